// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of functions: the `testing` entry of the package.
export {
  type ConditionDetails,
  expectResponse,
  type ResponseExpectation,
  type TextMatch,
} from "./expect-response.ts";
export { type InvokeOptions, invoke } from "./invoke.ts";
export { type InvokeToStableOptions, invokeToStable, type StableResponse } from "./invoke-to-stable.ts";
export { createMemorySource, type MemorySourceOptions } from "./memory-source.ts";
export {
  mustStruct,
  mustStruct as mustStructJSON,
  mustStruct as mustStructObject,
  newRequest,
  type RequestFixture,
} from "./new-request.ts";
export { startTestServer, type TestServer } from "./test-server.ts";
