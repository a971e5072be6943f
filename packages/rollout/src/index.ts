// SPDX-License-Identifier: Apache-2.0

export { type CallSamples, createCallSamples, sampledRunner } from "./call-samples.ts";
export { rolloutAnnotations } from "./observe.ts";
export { rolloutControllers } from "./policy.ts";
