// SPDX-License-Identifier: Apache-2.0
import { Capability } from "./gen/run-function.ts";

/** The two versions of the function protocol. Their messages are the same, byte for byte. */
export type ProtocolVersion = "v1" | "v1beta1";

/** The gRPC service of each version. */
export const serviceNames: Readonly<Record<ProtocolVersion, string>> = {
  v1: "apiextensions.fn.proto.v1.FunctionRunnerService",
  v1beta1: "apiextensions.fn.proto.v1beta1.FunctionRunnerService",
};

/** The HTTP/2 path of RunFunction in each version. */
export const runFunctionPaths: Readonly<Record<ProtocolVersion, string>> = {
  v1: `/${serviceNames.v1}/RunFunction`,
  v1beta1: `/${serviceNames.v1beta1}/RunFunction`,
};

/** Everything this version of Purlin can do, as sent with every request. */
export const allCapabilities: readonly Capability[] = [
  Capability.CAPABILITY_CAPABILITIES,
  Capability.CAPABILITY_REQUIRED_RESOURCES,
  Capability.CAPABILITY_CREDENTIALS,
  Capability.CAPABILITY_CONDITIONS,
  Capability.CAPABILITY_REQUIRED_SCHEMAS,
];
