// SPDX-License-Identifier: Apache-2.0
export { type CrossplaneLeafOptions, createCrossplaneAuthority, issueAsCrossplane } from "./crossplane-certificates.ts";
