// SPDX-License-Identifier: Apache-2.0
export { during, textOf, wrapError } from "@purlin/kube-controller/object";
