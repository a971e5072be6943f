// SPDX-License-Identifier: Apache-2.0
// What `purlin function init` makes, as its user gets it: installed from the registry, type-checked, tested, served on several
// Nodes, and called. The commands are those of docs/guide/getting-started.md and of the project's README.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { after, before, describe, test } from "node:test";
import { guideBlocks, missingLine } from "../../packages/cli/test/play-guide.ts";
import { consumerNode, consumerNodeIn } from "../../tools/peers/consumer-node.ts";

const root = join(import.meta.dirname, "../..");
const launcher = join(root, "packages/cli/bin/purlin.js");
const guide = guideBlocks(new URL("../../docs/guide/getting-started.md", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "function-init-"));
const project = join(folder, "my-function");
const majors = [20, 22, 24] as const;
const nodeOf = (major: (typeof majors)[number]): string => consumerNodeIn(join(folder, `node-${major}`), major);
const runtimes: Readonly<Record<string, () => string>> = {
  "Node 22": () => nodeOf(22),
  "Node 24": () => nodeOf(24),
  "our Node": () => dirname(process.execPath),
};

// A test runner inside a test runner would report to the outer one instead of to us.
const { NODE_TEST_CONTEXT: _, ...environment } = process.env;

/** Runs a shell command, with one of the Nodes first on the path. */
function run(command: string, options: { readonly cwd: string; readonly node?: string }): string {
  const PATH = `${options.node ?? dirname(process.execPath)}:${environment["PATH"]}`;
  const env = { ...environment, PATH };
  const { status, stdout, stderr } = spawnSync("/bin/sh", ["-c", command], { cwd: options.cwd, env, encoding: "utf8" });
  assert.equal(status, 0, `${command}:\n${stdout}${stderr}`);
  return stdout + stderr;
}

const purlin = (args: string): string => `"${process.execPath}" "${launcher}" ${args}`;

before(() => {
  const manifest = { name: "nodes", private: true };
  for (const major of majors) {
    const cwd = join(folder, `node-${major}`);
    mkdirSync(cwd);
    writeFileSync(join(cwd, "package.json"), JSON.stringify(manifest));
    run(`npm install --ignore-scripts --no-audit --no-fund ${consumerNode(major)}`, { cwd });
  }
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
  const { purlin: command } = manifest["devDependencies"] as Record<string, string>;
  assert.equal(command, "file:vendor/purlin-0.1.0.tgz");
  const lock = readFileSync(join(project, "package-lock.json"), "utf8");
  assert.ok(!lock.includes(root), "no path of the repository");
});

test("no Node on PATH is too old to make a project, which brings its own", () => {
  for (const major of majors) {
    // As npx has it: the repository's own Node comes first.
    const PATH = [join(root, "node_modules/.bin"), nodeOf(major), "/usr/bin", "/bin"].join(":");
    const args = [launcher, "function", "init", `made-by-${major}`];
    const made = spawnSync(process.execPath, args, { cwd: folder, env: { ...environment, PATH }, encoding: "utf8" });
    assert.equal(made.status, 0, made.stderr);
    assert.doesNotMatch(made.stderr, /warning/);
  }
});

test("every npx purlin of the project's README works in the project", () => {
  const readme = readFileSync(join(project, "README.md"), "utf8");
  const commands = [...readme.matchAll(/^npx purlin (.*)$/gm)].map(([, args = ""]) => args);
  assert.equal(commands.length, 5);
  assert.doesNotMatch(readme, /^purlin /m, "nothing else installs the command");
  // Nothing is fetched: what is not installed fails.
  const npx = "npx --no-install purlin";
  for (const args of commands) {
    const name = args.split(" ").slice(0, 2).join(" ");
    assert.match(run(`${npx} ${name} --help`, { cwd: project }), new RegExp(`^Usage: purlin ${name}`));
  }
  run(`${npx} xpkg build`, { cwd: project });
});

test("with Node 20 on PATH the scripts and npx run on the Node that the project brings, until that is removed", () => {
  const place = { cwd: project, node: nodeOf(20) };
  assert.match(run("node --version", place), /^v20\./);
  assert.match(run("npm test", place), /pass 3\b/);
  assert.match(run("npx --no-install purlin --version", place), /^0\.1\.0$/m);
  // From here on, the Node on PATH is the one that runs.
  unlinkSync(join(project, "node_modules/.bin/node"));
  const { stdout } = spawnSync("npm", ["test"], {
    cwd: project,
    env: { ...environment, PATH: `${nodeOf(20)}:${environment["PATH"]}` },
    encoding: "utf8",
  });
  assert.doesNotMatch(stdout, /pass 3\b/);
});

/** Runs a program where there is nothing but the system, one Node and the project: no repository, no network, no variables. */
function inBareRoot(node: string, args: readonly string[]): { status: number | null; output: string } {
  const system = [
    "--ro-bind",
    "/usr",
    "/usr",
    ...["bin", "lib", "lib64"].flatMap((name) => ["--symlink", `usr/${name}`, `/${name}`]),
  ];
  const mounts = [
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
    "--ro-bind",
    node,
    "/node",
    "--bind",
    project,
    "/project",
  ];
  const environs = ["--clearenv", "--setenv", "PATH", "/node:/usr/bin:/bin", "--setenv", "HOME", "/tmp"];
  const options = [...system, ...mounts, ...environs, "--chdir", "/project", "--unshare-all", "--die-with-parent"];
  const { status, stdout, stderr, error } = spawnSync("bwrap", [...options, ...args], { encoding: "utf8" });
  if (error) throw error;
  return { status, output: stdout + stderr };
}

for (const major of [22, 24] as const) {
  test(`in an empty root with Node ${major} the project is tested and type-checked`, () => {
    for (const script of ["test", "check"]) {
      const { status, output } = inBareRoot(nodeOf(major), ["/node/node", "--run", script]);
      assert.equal(status, 0, `${script}: ${output}`);
    }
  });
}

test("the type-check can fail", () => {
  const file = join(project, "src/wrong.ts");
  writeFileSync(file, 'import { response } from "@purlin/function-sdk";\nresponse.normal(1, 2);\n');
  const { status, stdout } = spawnSync("npx", ["tsc"], { cwd: project, encoding: "utf8", env: environment });
  rmSync(file);
  assert.notEqual(status, 0);
  assert.match(stdout, /src\/wrong\.ts.*TS2345/);
});

for (const [name, nodeFolder] of Object.entries(runtimes)) {
  describe(name, () => {
    test("the project's tests pass", () => {
      const node = nodeFolder();
      const [, major] = /^Node (\d+)$/.exec(name) ?? [];
      if (major !== undefined) assert.ok(run("node --version", { cwd: project, node }).startsWith(`v${major}.`));
      assert.match(run("npm test", { cwd: project, node }), /pass 3\b/);
    });

    test("it is served by its own start script, called and stopped", async () => {
      const [serve] = guide.filter(({ kind }) => kind === "registry-serve");
      assert.deepEqual(serve?.commands, ["npm start -- --insecure"]);
      const args = ["src/main.ts", "--insecure", "--address=localhost:0", "--metrics-address="];
      const child = spawn(join(nodeFolder(), "node"), args, { cwd: project, stdio: ["ignore", "inherit", "pipe"] });
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
