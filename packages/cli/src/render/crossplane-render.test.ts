// SPDX-License-Identifier: Apache-2.0
// The output of the real command for the same inputs, recorded by `npm run record -- render`.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { startTestServer, type TestServer } from "@purlin/function-sdk/testing";
import { argumentsOf, documentsIn, filesOf, readRenderCases, scriptedFunction } from "../../test/render-case.ts";
import { runInProcess } from "../../test/test-io.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer(scriptedFunction);
});
after(() => server.stop(0));

for (const recorded of readRenderCases()) {
  test(`prints what Crossplane's render prints: ${recorded.name}`, async () => {
    using folder = tempFolder(filesOf(recorded, server.port));
    const outcome = await runInProcess(["render", ...argumentsOf(recorded)], { cwd: folder.path });
    assert.equal(outcome.exitCode, recorded.exitCode, outcome.stderr);
    assert.deepEqual(documentsIn(outcome.stdout), recorded.documents);
  });
}
