// SPDX-License-Identifier: Apache-2.0
// The `result` namespace of the SDK.
export { type BuiltResult, fatal, normal, type ResultBuilder, warning } from "./response/result-builder.ts";
