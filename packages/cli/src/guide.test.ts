// SPDX-License-Identifier: Apache-2.0
// Runs the commands of the guide as it shows them. Ports that the guide names are replaced by free ones.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import type { FunctionHandler } from "@purlin/function-sdk";
import { expectResponse, invoke, newRequest } from "@purlin/function-sdk/testing";
import { guideBlocks, missingLine } from "../test/play-guide.ts";
import { type PurlinProcess, spawnPurlin } from "../test/spawn-purlin.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const guide = new URL("../../../docs/guide/getting-started.md", import.meta.url);

test("the guide does what it says", async () => {
  using folder = tempFolder();
  const servers: PurlinProcess[] = [];
  const ports = new Map<string, string>();
  // What the guide writes goes to a folder of the test, what it reads is in the repository.
  const own = (command: string): string =>
    command
      .replaceAll(/localhost:(9\d+)/g, (whole, port: string) =>
        ports.has(port) ? `localhost:${ports.get(port)}` : whole,
      )
      .replaceAll(/(?<= )certs$|(?<=--tls-certs-dir )certs\b/g, join(folder.path, "certs"));
  try {
    for (const block of guideBlocks(guide).filter(({ kind }) => !kind.startsWith("registry"))) {
      for (const command of block.commands) {
        const where = `docs/guide/getting-started.md:${block.line}: ${command}`;
        if (block.kind === "serve") {
          const port = /localhost:(\d+)/.exec(command)?.[1] ?? "9443";
          const args = `${own(command).replace(/ --address \S+/, "")} --address localhost:0`.split(" ").slice(2);
          const purlin = spawnPurlin(args, { cwd: root });
          servers.push(purlin);
          const [, actual = ""] = await purlin.next("stdout", /^Serving .* on localhost:(\d+) /m);
          ports.set(port, actual);
          continue;
        }
        const { status, stdout, stderr } = spawnSync("/bin/sh", ["-c", withoutNpx(own(command))], {
          cwd: root,
          encoding: "utf8",
          env: { ...process.env, NODE_TEST_CONTEXT: undefined },
        });
        assert.equal(status === 0, block.kind === "test", `${where}\n${stdout}${stderr}`);
        const output = [...ports].reduce((text, [shown, actual]) => text.replaceAll(actual, shown), stdout + stderr);
        assert.equal(missingLine(output, block.output), undefined, `${where}\n${output}`);
      }
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
  }
});

/** npx takes a second to find out what is known here. */
function withoutNpx(command: string): string {
  const launcher = `"${process.execPath}" "${join(root, "packages/cli/bin/purlin.js")}"`;
  return command.replace(/^npx purlin/, launcher);
}

test("the README has its two lines, an example before line 30, and is short", () => {
  const lines = readFileSync(join(root, "README.md"), "utf8").split("\n");
  const setUp = lines.filter((line) => line.startsWith("npm ci"));
  assert.deepEqual(setUp, ["npm ci && npm start", "npm ci && npm test"]);
  assert.ok(lines.indexOf("```ts") < 30);
  assert.ok(lines.length < 180);
});

test("the function of the README type-checks and does what it says", async () => {
  const [, code = ""] = /^```ts\n([\s\S]*?)^```$/m.exec(readFileSync(join(root, "README.md"), "utf8")) ?? [];
  assert.match(code, /^await main\(fn\);.*$/m);
  const compilerOptions = {
    strict: true,
    module: "nodenext",
    target: "es2024",
    types: ["node"],
    noEmit: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  };
  using folder = tempFolder({
    "package.json": '{"type":"module"}',
    "fn.ts": code.replace(/^await main.*$/m, "export { fn, main };"),
    "tsconfig.json": JSON.stringify({ compilerOptions }),
  });
  mkdirSync(join(folder.path, "node_modules/@purlin"), { recursive: true });
  for (const name of ["@purlin/function-sdk", "@types"]) {
    symlinkSync(join(root, "node_modules", name), join(folder.path, "node_modules", name));
  }
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", folder.path], { encoding: "utf8" });
  assert.equal(status, 0, stdout);
  const { fn } = (await import(pathToFileURL(join(folder.path, "fn.ts")).href)) as { readonly fn: FunctionHandler };
  expectResponse(await invoke(fn, newRequest({ xr: { spec: { name: "Ada" } } })))
    .composed("greeting", { data: { name: "Ada" } })
    .condition("Greeted", "True", { claim: true });
});
