// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of packages of kinds.

export { warningHeaders } from "../src/http/write-complete.ts";
export { serverKinds } from "../src/kinds/server-kinds.ts";
export { objectCodec } from "../src/rest/object-codec.ts";
export { openStore } from "../src/store/open-store.ts";
export { plainPrinter, toTable } from "../src/table/table.ts";
export { serverDirectory, tempDirectory } from "./store/temp-store.ts";
export { answerValue } from "./test-request.ts";
export { startTestServer, type TestServer } from "./test-server.ts";
