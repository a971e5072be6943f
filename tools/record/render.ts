// SPDX-License-Identifier: Apache-2.0
// What Crossplane's own render command prints, with a function of ours that answers what its input says.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  argumentsOf,
  documentsIn,
  filesOf,
  type OperationRenderCase,
  operationDocuments,
  operationInputs,
  type RenderCase,
  scriptedFunction,
} from "../../packages/cli/test/render-case.ts";
import { startTestServer } from "../../packages/function-sdk/src/testing/index.ts";
import { cacheDirectory } from "../peers/cache-directory.ts";
import { crossplaneRender, crossplaneRenderIn } from "../peers/crossplane-render.ts";
import { installed } from "../peers/peer.ts";
import { prettyList } from "./formats.ts";
import type { Entry, Recording } from "./recording.ts";

export const renderRecording: Recording = {
  subject: "render",
  file: "packages/cli/src/render/testdata/crossplane-render.json",
  isOnRequest: true,
  ...prettyList,
  async answer(entries) {
    await using server = await startTestServer(scriptedFunction);
    const answers: Entry[] = [];
    for (const entry of entries) answers.push(await answerOf(entry, server.port));
    return answers;
  },
};

export const operationRenderRecording: Recording = {
  ...renderRecording,
  subject: "operation-render",
  file: "packages/cli/src/operation/testdata/crossplane-operation-render.json",
  async answer(entries) {
    await using server = await startTestServer(scriptedFunction);
    const answers: Entry[] = [];
    for (const entry of entries) {
      const given = entry as unknown as OperationRenderCase;
      const { files, args } = operationInputs(given, server.port);
      const { exitCode, stdout } = await outputOf(files, ["operation", ...args]);
      answers.push({ ...entry, exitCode, documents: operationDocuments(stdout, given) });
    }
    return answers;
  },
};

async function answerOf(entry: Entry, port: number): Promise<Entry> {
  const given = entry as unknown as RenderCase;
  const { exitCode, stdout } = await outputOf(filesOf(given, port), argumentsOf(given));
  return { ...entry, exitCode, documents: documentsIn(stdout) };
}

interface Output {
  readonly exitCode: number;
  readonly stdout: string;
}

async function outputOf(files: Readonly<Record<string, string>>, args: readonly string[]): Promise<Output> {
  const folder = mkdtempSync(join(tmpdir(), "record-render-"));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return await run(args, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs the command while the function in this process answers it. */
function run(args: readonly string[], cwd: string): Promise<Output> {
  const { core, render } = crossplaneRenderIn(installed(crossplaneRender, cacheDirectory));
  return new Promise((resolve, reject) => {
    execFile(render, [...args, "--crossplane-binary", core], { cwd }, (error, stdout) => {
      if (error !== null && typeof error.code !== "number") reject(error);
      else resolve({ exitCode: Number(error?.code ?? 0), stdout });
    });
  });
}
