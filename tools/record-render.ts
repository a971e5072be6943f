// SPDX-License-Identifier: Apache-2.0
// Records what Crossplane's own render command prints for the cases of packages/cli/src/render/testdata:
// `npm run peers -- crossplane-render`, then `node tools/record-render.ts`.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  argumentsOf,
  documentsIn,
  filesOf,
  type RenderCase,
  readRenderCases,
  renderCasesFile,
} from "../packages/cli/src/testing/render-case.ts";
import { scriptedFunction } from "../packages/cli/src/testing/scripted-function.ts";
import { startTestServer } from "../packages/function-sdk/src/testing/index.ts";
import { cacheDirectory } from "./peers/cache-directory.ts";
import { crossplaneRender, crossplaneRenderIn } from "./peers/crossplane-render.ts";
import { installed } from "./peers/peer.ts";

await using server = await startTestServer(scriptedFunction);
const programs = crossplaneRenderIn(installed(crossplaneRender, cacheDirectory));
const cases: RenderCase[] = [];
for (const given of readRenderCases()) cases.push(await record(given));
writeFileSync(renderCasesFile, `${JSON.stringify(cases, undefined, 2)}\n`);
console.log(`recorded ${cases.length} renders`);

async function record(given: RenderCase): Promise<RenderCase> {
  const folder = mkdtempSync(join(tmpdir(), "record-render-"));
  try {
    for (const [name, text] of Object.entries(filesOf(given, server.port))) writeFileSync(join(folder, name), text);
    const { exitCode, stdout } = await run([...argumentsOf(given), "--crossplane-binary", programs.core], folder);
    return { ...given, exitCode, documents: documentsIn(stdout) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs the command while the function in this process answers it. */
function run(args: readonly string[], cwd: string): Promise<{ readonly exitCode: number; readonly stdout: string }> {
  return new Promise((resolve, reject) => {
    execFile(programs.render, args, { cwd }, (error, stdout) => {
      if (error !== null && typeof error.code !== "number") reject(error);
      else resolve({ exitCode: Number(error?.code ?? 0), stdout });
    });
  });
}
