// SPDX-License-Identifier: Apache-2.0
// What `purlin init` makes, as its user gets it: installed from the registry, type-checked, tested, run, packed and installed in another
// control plane, on several Nodes. The commands are those of the project's README.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { text } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { load, loadAll } from "js-yaml";
import { consumerNode, consumerNodeIn } from "../../tools/peers/consumer-node.ts";

const root = join(import.meta.dirname, "../..");
const launcher = join(root, "packages/cli/bin/purlin.js");
const folder = mkdtempSync(join(tmpdir(), "platform-init-"));
const made = join(folder, "shop");
const majors = [20, 22, 24] as const;
const patienceMs = 120_000;

// A test runner inside a test runner would report to the outer one instead of to us; npm's settings are those of the outer script.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(NODE_TEST_CONTEXT|KUBECONFIG|PURLIN_\w+|npm_\w+)$/.test(name)),
);

interface Place {
  readonly cwd: string;
  /** The folder of the Node that comes first on the path; ours unless given. */
  readonly node?: string;
  /** The data directory of the control plane that is meant. */
  readonly dataDir?: string;
}

function start(command: string, { cwd, node = dirname(process.execPath), dataDir }: Place): ChildProcess {
  const env = { ...environment, PATH: `${node}:${environment["PATH"]}`, ...(dataDir && { PURLIN_DATA_DIR: dataDir }) };
  // A group of its own, so that what npx starts can be stopped with it.
  return spawn("/bin/sh", ["-c", command], { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
}

/** Runs a shell command to its end. */
async function run(command: string, place: Place): Promise<string> {
  const child = start(command, place);
  assert.ok(child.stdout && child.stderr);
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  assert.equal(code, 0, `${command}:\n${stdout}${stderr}`);
  return stdout;
}

/** A program that continues until it is stopped. */
interface Running extends AsyncDisposable {
  /** Waits until its output matches, and returns all of it. */
  until(pattern: RegExp): Promise<string>;
}

function keepRunning(command: string, place: Place): Running {
  const child = start(command, place);
  const exited = once(child, "exit");
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => (output += String(chunk)));
  return {
    async until(pattern) {
      const deadline = AbortSignal.timeout(patienceMs);
      while (!pattern.test(output)) {
        const more = once(child.stdout ?? child, "data", { signal: deadline });
        await Promise.race([more, exited.then(() => assert.fail(`${command} ended:\n${output}`))]).catch((error) => {
          throw new Error(`${command}: no ${pattern} in:\n${output}`, { cause: error });
        });
      }
      return output;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
      await exited;
    },
  };
}

async function installNode(major: (typeof majors)[number]): Promise<void> {
  const cwd = join(folder, `node-${major}`);
  mkdirSync(cwd);
  writeFileSync(join(cwd, "package.json"), JSON.stringify({ name: "nodes", private: true }));
  await run(`npm install --ignore-scripts --no-audit --no-fund ${consumerNode(major)}`, { cwd });
}

before(async () => {
  const options = "--kind Database --group acme.example.org";
  await Promise.all([
    run(`"${process.execPath}" "${launcher}" init shop ${options}`, { cwd: folder }),
    ...majors.map(installNode),
  ]);
});

after(() => rmSync(folder, { recursive: true, force: true }));

function platformSteps(major: (typeof majors)[number]): void {
  const cwd = join(folder, `on-${major}`, "shop");
  const place = (): Place => ({ cwd, node: consumerNodeIn(join(folder, `node-${major}`), major) });

  test("npm install", async () => {
    cpSync(made, cwd, { recursive: true });
    assert.match(await run("node --version", place()), new RegExp(`^v${major}\\.`));
    await run("npm install --no-audit --no-fund --prefer-offline", place());
    // Node 20 runs none of it. Others run the function as well as the one that the project brings.
    if (major > 20) unlinkSync(join(cwd, "node_modules/.bin/node"));
  });

  test("npm run check", async () => {
    await run("npm run check", place());
  });

  test("npm test", async () => {
    assert.match(await run("npm test", place()), /pass 3\b/);
  });

  test("purlin up: the example becomes ready, and types follow the definition", async () => {
    await using up = keepRunning("npx --no-install purlin up --port 0 --registry-port 0", place());
    await up.until(/✓ Everything is ready\./);
    const get = "node_modules/.bin/purlin get configmap example-settings -o yaml";
    const config = load(await run(get, place())) as { readonly data: object };
    assert.deepEqual(config.data, { greeting: "hello", megabytes: "8192", owner: "team-a" });
    const file = join(cwd, "platform/definition.yaml");
    const definition = readFileSync(file, "utf8");
    writeFileSync(file, definition.replace("                settings:", "                color: {type: string}\n$&"));
    await up.until(/✓ refreshed types\/acme\.example\.org\/v1\.d\.ts, types\/manifests\.schema\.json/);
    assert.match(readFileSync(join(cwd, "types/acme.example.org/v1.d.ts"), "utf8"), /^ {2}color\?: string;$/m);
    await run("npm run check", place());
  });

  // What runs from here on is the same on every Node: the command brings its own.
  if (major < 22) return;
  test("npm run build, push and install: the platform works from packages alone", async () => {
    await run("npm run build", place());
    const dataDir = join(folder, `plane-${major}`);
    const plane = { cwd: folder, dataDir };
    await using up = keepRunning(`"${process.execPath}" "${launcher}" up`, plane);
    const [, registry] = /registry at (\S+)/.exec(await up.until(/The control plane is ready\./)) ?? [];
    const commands = readmeCommands().filter((command) => / xpkg (push|install) /.test(command));
    assert.equal(commands.length, 4);
    for (const command of commands) {
      const args = command.replace("<registry>", registry ?? "").replace("<organization>", "acme");
      await run(`node_modules/.bin/${args}`, { ...place(), dataDir });
    }
    await run("node_modules/.bin/purlin apply examples", { ...place(), dataDir });
    await up.until(/Database default\/example: .*Ready/);
    const found = await run("node_modules/.bin/purlin get databases -o yaml", { ...place(), dataDir });
    assert.match(found, /configMap: example-settings/);
  });
}

// Much of each step is waiting; the steps of one Node come one after the other.
describe("platforms", { concurrency: true }, () => {
  for (const major of majors) describe(`on Node ${major}`, { concurrency: 1 }, () => platformSteps(major));
});

function readmeCommands(): string[] {
  const readme = readFileSync(join(made, "README.md"), "utf8");
  assert.doesNotMatch(readme, /^purlin /m, "nothing else installs the command");
  return [...readme.matchAll(/^npx (purlin .*?)\s*(#.*)?$/gm)].map(([, command = ""]) => command);
}

test("every command of the README exists", async () => {
  const names = readmeCommands().map((command) => /^purlin (xpkg \w+|\w+)/.exec(command)?.[1] ?? command);
  assert.ok(names.length >= 8, names.join());
  for (const name of new Set(names)) {
    const help = await run(`"${process.execPath}" "${launcher}" ${name} --help`, { cwd: folder });
    assert.match(help, new RegExp(`^Usage: purlin ${name} `));
  }
});

/** A validator that editors do not have, and so an independent judge of what they are given. */
const validator = "ajv@8.17.1";

test("the editor's schemas are valid, accept every manifest of the project and refuse mistakes", async () => {
  const cwd = join(folder, "validator");
  mkdirSync(cwd);
  writeFileSync(join(cwd, "package.json"), JSON.stringify({ name: "validator", private: true, type: "module" }));
  await run(`npm install --ignore-scripts --no-audit --no-fund ${validator}`, { cwd });
  const read = (name: string): unknown[] => loadAll(readFileSync(join(made, name), "utf8"));
  const [example] = read("examples/example.yaml") as [Record<string, object>];
  const [composition] = read("platform/composition.yaml") as [Record<string, object>];
  const manifests = [
    "function.yaml",
    "platform/definition.yaml",
    "platform/composition.yaml",
    "platform/crossplane.yaml",
  ];
  const right = [...manifests, "package/crossplane.yaml", "examples/example.yaml"].flatMap(read);
  const wrong = [
    { ...example, spec: { ...example["spec"], siez: "small" } },
    { ...example, spec: { size: "small" } },
    { ...example, spec: { owner: "a", size: "medium" } },
    { ...example, spek: {} },
    { ...composition, spec: { ...composition["spec"], mode: "Resources" } },
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" }, data: { a: 1 } },
    { kind: "ConfigMap" },
  ];
  const other = { apiVersion: "other.org/v1", kind: "Unknown", anything: 1 };
  const cases = [
    { schema: "manifests", right: [...right, other, { ...example, spec: { owner: "a" } }], wrong },
    { schema: "purlin", right: read("purlin.yaml"), wrong: [{ pahts: ["."] }, { ports: { api: "x" } }] },
  ];
  writeFileSync(join(cwd, "cases.json"), JSON.stringify(cases));
  const program = `import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
const read = (path) => JSON.parse(readFileSync(path, "utf8"));
for (const { schema, right, wrong } of read("cases.json")) {
  const isValid = new Ajv({ strict: false, logger: false }).compile(read("${made}/types/" + schema + ".schema.json"));
  for (const value of right) if (!isValid(value)) console.log("refused", JSON.stringify(value), isValid.errors);
  for (const value of wrong) if (isValid(value)) console.log("accepted", JSON.stringify(value));
}
`;
  writeFileSync(join(cwd, "judge.js"), program);
  assert.equal(await run("node judge.js", { cwd }), "");
});
