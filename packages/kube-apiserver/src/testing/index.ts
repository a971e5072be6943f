// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of packages of kinds.

export { warningHeaders } from "../http/write-complete.ts";
export { serverKinds } from "../kinds/server-kinds.ts";
export { objectCodec } from "../rest/object-codec.ts";
export { openStore } from "../store/open-store.ts";
export { serverDirectory, tempDirectory } from "../store/testing/temp-store.ts";
export { plainPrinter, toTable } from "../table/table.ts";
export { answerValue } from "./test-request.ts";
export { startTestServer, type TestServer } from "./test-server.ts";
