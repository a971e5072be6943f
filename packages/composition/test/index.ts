// SPDX-License-Identifier: Apache-2.0
// For tests of packages that build on this one.
export { mortalClient } from "./mortal-client.ts";
export { startTestControl, type TestControl } from "./test-control.ts";
export { createTestFunctions, fatal, respond, type TestFunction, type TestFunctions } from "./test-functions.ts";
