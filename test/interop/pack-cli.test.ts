// SPDX-License-Identifier: Apache-2.0
// The command as users get it: packed, installed in an empty folder, run from there.
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { packCli } from "../../tools/pack-cli.ts";

const project = mkdtempSync(join(tmpdir(), "packed-cli-"));
const launcher = join(project, "node_modules/purlin/bin/purlin.js");

function run(command: string, ...args: readonly string[]): string {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: project, encoding: "utf8", env });
  assert.equal(status, 0, `${command} ${args.join(" ")}:\n${stdout}${stderr}`);
  return stdout;
}

const purlin = (...args: readonly string[]): string => run(process.execPath, launcher, ...args);

before(() => {
  const [tarball = ""] = packCli(project);
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }));
  run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", tarball);
});

after(() => rmSync(project, { recursive: true, force: true }));

test("the package is JavaScript, without sources and tests, and asks npm for other people's packages only", () => {
  const packed = run("tar", "-tzf", join(project, "purlin-0.1.0.tgz")).trim().split("\n");
  const sources = packed.filter((path) => /(?<!\.d)\.ts$|\.test\./.test(path) && !path.startsWith("package/template/"));
  assert.deepEqual(sources, []);
  assert.deepEqual(
    readdirSync(join(project, "node_modules")).filter((name) => name === "@purlin"),
    [],
    "our packages travel inside the command",
  );
});

interface LockedPackage {
  readonly integrity?: string;
  readonly resolved?: string;
  readonly inBundle?: boolean;
  readonly hasInstallScript?: boolean;
}

function lockedIn(folder: string): readonly (readonly [string, LockedPackage])[] {
  const lock = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, LockedPackage>>;
  };
  return Object.entries(lock.packages).filter(([path]) => path !== "");
}

/** All that an installation fetches has a hash, and no script of it fetches anything more. */
function checkLock(folder: string): void {
  const locked = lockedIn(folder);
  const unhashed = locked.filter(([, { inBundle, integrity = "" }]) => !inBundle && !integrity.startsWith("sha512-"));
  assert.deepEqual(unhashed, []);
  const scripted = locked.filter(([, { hasInstallScript }]) => hasInstallScript);
  // It prints a warning about versions.
  assert.deepEqual(
    scripted.map(([path]) => path),
    ["node_modules/protobufjs"],
  );
}

test("all that is fetched with the command has a hash, and no install script fetches anything", () => {
  checkLock(project);
});

test("help and version come from the package", () => {
  assert.match(purlin("--version"), /^0\.1\.0\n$/);
  assert.match(purlin("version", "--client"), /^Client Version: v0\.1\.0 /);
  assert.match(purlin("apiserver", "--help"), /--data-dir/);
});

test("every command of the package can be loaded", () => {
  const dist = join(project, "node_modules/purlin/dist");
  const commands = globSync("**/*-command.js", { cwd: dist });
  assert.ok(commands.length > 30, commands.join());
  const program = `
    for (const file of process.argv.slice(1)) {
      const { run, ...others } = await import(file);
      if (![run, ...Object.values(others)].some((one) => typeof one === "function")) throw new Error(file + " exports no command");
    }`;
  const files = commands.map((file) => pathToFileURL(join(dist, file)).href);
  run(process.execPath, "--input-type=module", "--eval", program, ...files);
});

test("a global installation has all packages, runs, and brings the manual pages", () => {
  const prefix = join(project, "global");
  const args = ["--global", "--ignore-scripts", "--prefix", prefix, "--no-audit", "--no-fund"];
  run("npm", "install", ...args, join(project, "purlin-0.1.0.tgz"));
  const modules = join(prefix, "lib/node_modules/purlin/node_modules");
  const folders = readdirSync(modules).flatMap((name) =>
    name.startsWith("@") ? readdirSync(join(modules, name)).map((inside) => join(name, inside)) : [name],
  );
  assert.deepEqual(
    folders.filter((name) => !name.startsWith(".") && !existsSync(join(modules, name, "package.json"))),
    [],
    "packages without files",
  );
  const command = join(prefix, "bin/purlin");
  assert.match(run(process.execPath, command, "up", "--help"), /--registry-port/);
  assert.ok(existsSync(join(prefix, "share/man/man1/purlin-get.1")));
});

test("a new project gets the SDK that came along and a copy of the command, which installs and runs", () => {
  purlin("function", "init", "made");
  assert.deepEqual(readdirSync(join(project, "made/vendor")).sort(), [
    "purlin-0.1.0.tgz",
    "purlin-function-sdk-0.1.0.tgz",
  ]);
  // Installed as npm does it by itself: the project says that no script runs.
  run("npm", "install", "--no-audit", "--no-fund", "--prefix", "made");
  checkLock(join(project, "made"));
  const copy = join(project, "made/node_modules/purlin/bin/purlin.js");
  assert.equal(run(process.execPath, copy, "--version"), "0.1.0\n");
  run(
    process.execPath,
    copy,
    "xpkg",
    "build",
    "-f",
    "made/package",
    "--function",
    "made/src/main.ts",
    "-o",
    "made.xpkg",
  );
  assert.ok(existsSync(join(project, "made.xpkg")));
});

test("a new platform has everything, files with a dot as well, and types that are up to date", () => {
  purlin("init", "shop");
  for (const file of [
    ".gitignore",
    ".npmrc",
    ".vscode/settings.json",
    "vendor/purlin-0.1.0.tgz",
    "platform/definition.yaml",
  ]) {
    assert.ok(existsSync(join(project, "shop", file)), file);
  }
  assert.match(purlin("types", "shop", "--out", "shop/types"), /^✓ shop\/types: up to date \(1 kind /);
});

test("certificates are made, and a function written in TypeScript is served and rendered with", async (t) => {
  const code = "export const fn = async (req: unknown, call: { to(r: unknown): unknown }) => call.to(req);\n";
  writeFileSync(join(project, "function.ts"), code);
  purlin("function", "certs", "certs");
  const served = spawnPurlin(["function", "run", "function.ts", "--insecure", "--address=127.0.0.1:0"]);
  t.after(() => served.kill());
  const [, port] = /^Serving function\.ts on localhost:(\d+)/.exec(await firstLine(served)) ?? [];
  assert.ok(port);
  // Again and again: what the first runs have compiled is what the others begin with.
  for (let run = 0; run < 5; run++) assert.match(purlin("render", ...renderFiles(port)), /^ {2}name: rendered$/m);
  assert.equal(await stopped(served), 0);
});

function renderFiles(port: string): string[] {
  const annotations = {
    "render.crossplane.io/runtime": "Development",
    "render.crossplane.io/runtime-development-target": `localhost:${port}`,
  };
  const documents = {
    "xr.yaml": { apiVersion: "example.org/v1", kind: "XApp", metadata: { name: "rendered" } },
    "composition.yaml": {
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "Composition",
      metadata: { name: "app" },
      spec: {
        compositeTypeRef: { apiVersion: "example.org/v1", kind: "XApp" },
        mode: "Pipeline",
        pipeline: [{ step: "only", functionRef: { name: "fn" } }],
      },
    },
    "functions.yaml": {
      apiVersion: "pkg.crossplane.io/v1",
      kind: "Function",
      metadata: { name: "fn", annotations },
      spec: { package: "example.org/fn:v1" },
    },
  };
  return Object.entries(documents).map(([name, document]) => {
    writeFileSync(join(project, name), JSON.stringify(document));
    return name;
  });
}

test("the licences of what is built in come along", () => {
  const licences = readFileSync(join(project, "node_modules/purlin/dist/LICENCES.txt"), "utf8");
  for (const name of ["@grpc/grpc-js", "commander", "js-yaml"]) {
    assert.match(licences, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, "m"));
  }
  assert.doesNotMatch(licences, /no licence file/);
});

test("the API server starts, says where, and stops", async () => {
  const server = spawnPurlin(["apiserver", "--data-dir", "data"]);
  assert.match(await firstLine(server), /API server at https:\/\/127\.0\.0\.1:\d+$/);
  assert.ok(existsSync(join(project, "data/kubeconfig")));
  assert.equal(await stopped(server), 0);
});

function spawnPurlin(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [launcher, ...args], { cwd: project, stdio: ["ignore", "pipe", "pipe"] });
}

/** The first line a command prints; its complaints when it ends without one. */
async function firstLine(child: ChildProcess): Promise<string> {
  const complaints: string[] = [];
  child.stderr?.on("data", (chunk) => complaints.push(String(chunk)));
  assert.ok(child.stdout);
  const line = once(createInterface({ input: child.stdout }), "line", { signal: AbortSignal.timeout(60_000) });
  const [first] = (await Promise.race([line, once(child, "exit")])) as unknown[];
  return typeof first === "string" ? first : assert.fail(complaints.join(""));
}

async function stopped(child: ChildProcess): Promise<unknown> {
  const exit = once(child, "exit");
  child.kill("SIGTERM");
  const [code] = await exit;
  return code;
}
