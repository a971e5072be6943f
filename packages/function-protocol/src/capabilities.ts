// SPDX-License-Identifier: Apache-2.0
import { Capability } from "./gen/run-function.ts";

/** Everything this version of Purlin can do, as sent with every request. */
export const allCapabilities: readonly Capability[] = [
  Capability.CAPABILITY_CAPABILITIES,
  Capability.CAPABILITY_REQUIRED_RESOURCES,
  Capability.CAPABILITY_CREDENTIALS,
  Capability.CAPABILITY_CONDITIONS,
  Capability.CAPABILITY_REQUIRED_SCHEMAS,
];
