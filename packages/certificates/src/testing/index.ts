// SPDX-License-Identifier: Apache-2.0
export {
  type CrossplaneAuthorityOptions,
  type CrossplaneLeafOptions,
  createCrossplaneAuthority,
  issueAsCrossplane,
} from "./crossplane-certificates.ts";
