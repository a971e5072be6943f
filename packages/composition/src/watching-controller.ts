// SPDX-License-Identifier: Apache-2.0
export { retryBackoff, type WatchingController } from "@purlin/kube-controller";
