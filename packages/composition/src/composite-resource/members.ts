// SPDX-License-Identifier: Apache-2.0
export { memberAt, objectAt, textAt, textMapAt, textsAt, withMember } from "@purlin/kube-controller/object";
