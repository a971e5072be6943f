// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of functions: the `testing` entry of the package.
export {
  type ConditionDetails,
  expectResponse,
  type ResponseExpectation,
  type TextMatch,
} from "./expect-response.ts";
export {
  createMemorySource,
  type InvokeOptions,
  type InvokeToStableOptions,
  invoke,
  invokeToStable,
  type MemorySourceOptions,
  type StableResponse,
  startTestServer,
  type TestServer,
} from "./invoke.ts";
export {
  mustStruct,
  mustStruct as mustStructJSON,
  mustStruct as mustStructObject,
  newRequest,
  type RequestFixture,
} from "./new-request.ts";
