// SPDX-License-Identifier: Apache-2.0
// For tests of controllers, here and in the packages above. Nothing that is shipped may import it.
export { eventually } from "./eventually.ts";
export { recordRequests } from "./recorded-requests.ts";
export { serveTestsFrom, startTestServer, type TestServer } from "./test-server.ts";
export { undescribedFields } from "./undescribed-fields.ts";
