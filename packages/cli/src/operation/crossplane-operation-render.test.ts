// SPDX-License-Identifier: Apache-2.0
// The output of the real command for the same inputs, recorded by `npm run record -- operation-render`.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { startTestServer, type TestServer } from "@purlin/function-sdk/testing";
import {
  operationDocuments,
  operationInputs,
  readOperationRenderCases,
  scriptedFunction,
} from "../../test/render-case.ts";
import { runInProcess } from "../../test/test-io.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer(scriptedFunction);
});
after(() => server.stop(0));

for (const recorded of readOperationRenderCases()) {
  test(`prints what Crossplane's render of operations prints: ${recorded.name}`, async () => {
    const { files, args } = operationInputs(recorded, server.port);
    using folder = tempFolder(files);
    const outcome = await runInProcess(["operation", "render", ...args], { cwd: folder.path });
    assert.deepEqual(operationDocuments(outcome.stdout, recorded), recorded.documents, outcome.stderr);
    assert.equal(outcome.exitCode === 0, recorded.exitCode === 0, outcome.stderr);
  });
}
