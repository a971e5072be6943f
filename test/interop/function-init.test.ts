// SPDX-License-Identifier: Apache-2.0
// What `purlin function init` makes, as its user gets it: installed from the registry, type-checked, tested, served on Node 22
// and on ours, and called. The commands are those of docs/guide/getting-started.md.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { guideBlocks, missingLine } from "../../packages/cli/src/testing/guide-blocks.ts";

const root = join(import.meta.dirname, "../..");
const launcher = join(root, "packages/cli/bin/purlin.js");
const guide = guideBlocks(new URL("../../docs/guide/getting-started.md", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "function-init-"));
const project = join(folder, "my-function");
const runtimes: Readonly<Record<string, string>> = {
  "Node 22": join(folder, "node_modules/node/bin"),
  "our Node": join(root, "node_modules/node/bin"),
};

// A test runner inside a test runner would report to the outer one instead of to us.
const { NODE_TEST_CONTEXT: _, ...environment } = process.env;

/** Runs a shell command, with one of the Nodes first on the path. */
function run(command: string, options: { readonly cwd: string; readonly node?: string }): string {
  const PATH = `${options.node ?? runtimes["our Node"]}:${environment["PATH"]}`;
  const env = { ...environment, PATH };
  const { status, stdout, stderr } = spawnSync("/bin/sh", ["-c", command], { cwd: options.cwd, env, encoding: "utf8" });
  assert.equal(status, 0, `${command}:\n${stdout}${stderr}`);
  return stdout + stderr;
}

const purlin = (args: string): string => `"${process.execPath}" "${launcher}" ${args}`;

before(() => {
  // The package node fetches its binary in an install script, which npm 12 runs only when it is named here.
  const manifest = { name: "nodes", private: true, allowScripts: { node: true } };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  run("npm install --no-audit --no-fund node@22", { cwd: folder });
});

after(() => rmSync(folder, { recursive: true, force: true }));

test("the guide's commands make, install, test and type-check a project", () => {
  const [block] = guide.filter(({ kind }) => kind === "registry");
  assert.ok(block);
  let cwd = folder;
  for (const command of block.commands) {
    if (command.startsWith("cd ")) cwd = join(cwd, command.slice("cd ".length));
    else
      run(
        command.replace(/^npx purlin (.*)$/, (__, args: string) => purlin(args)),
        { cwd },
      );
  }
  assert.equal(cwd, project);
});

test("the project is tied to nothing but its own folder", () => {
  const manifest = JSON.parse(readFileSync(join(project, "package.json"), "utf8")) as Record<string, unknown>;
  assert.deepEqual(manifest["dependencies"], { "@purlin/function-sdk": "file:vendor/purlin-function-sdk-0.1.0.tgz" });
  const lock = readFileSync(join(project, "package-lock.json"), "utf8");
  assert.ok(!lock.includes(root), "no path of the repository");
});

test("the type-check can fail", () => {
  const file = join(project, "src/wrong.ts");
  writeFileSync(file, 'import { response } from "@purlin/function-sdk";\nresponse.normal(1, 2);\n');
  const { status, stdout } = spawnSync("npx", ["tsc"], { cwd: project, encoding: "utf8", env: environment });
  rmSync(file);
  assert.notEqual(status, 0);
  assert.match(stdout, /src\/wrong\.ts.*TS2345/);
});

for (const [name, node] of Object.entries(runtimes)) {
  describe(name, () => {
    test("the project's tests pass", () => {
      if (name === "Node 22") assert.match(run("node --version", { cwd: project, node }), /^v22\./);
      assert.match(run("npm test", { cwd: project, node }), /pass 3\b/);
    });

    test("it is served by its own start script, called and stopped", async () => {
      const [serve] = guide.filter(({ kind }) => kind === "registry-serve");
      assert.deepEqual(serve?.commands, ["npm start -- --insecure"]);
      const args = ["src/main.ts", "--insecure", "--address=localhost:0", "--metrics-address="];
      const child = spawn(join(node, "node"), args, { cwd: project, stdio: ["ignore", "inherit", "pipe"] });
      const exited = once(child, "exit");
      try {
        const [line] = (await once(createInterface({ input: child.stderr }), "line")) as [string];
        const { address } = JSON.parse(line) as { readonly address: string };
        const port = address.slice(address.lastIndexOf(":") + 1);
        const call = guide.filter(({ kind }) => kind === "registry").at(-1);
        const command = call?.commands[0]?.replace("npx purlin ", "").replace("9443", port) ?? "";
        const output = run(purlin(command), { cwd: folder });
        assert.equal(missingLine(output, call?.output ?? ["nothing"]), undefined, output);
      } finally {
        child.kill("SIGTERM");
      }
      assert.deepEqual(await exited, [0, null]);
    });
  });
}
