// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { runInProcess, TestIo } from "../test/test-io.ts";
import { reportError } from "./run.ts";
import { UserError } from "./user-error.ts";

const wrong: Record<string, { readonly argv: readonly string[]; readonly says: string }> = {
  UnknownOption: { argv: ["--nope"], says: `unknown option '--nope': see "purlin --help"` },
  UnknownCommand: {
    argv: ["funktion"],
    says: `unknown command 'funktion' (Did you mean function?): see "purlin --help"`,
  },
  UnknownSubcommand: {
    argv: ["function", "cal"],
    says: `unknown command 'cal' (Did you mean call?): see "purlin function --help"`,
  },
  MissingCommand: {
    argv: ["function"],
    says: `"purlin function" needs a command: init, run, call, certs: see "purlin function --help"`,
  },
  MissingOption: {
    argv: ["function", "call"],
    says: `required option '--target <host:port>' not specified: see "purlin function call --help"`,
  },
  MissingArgument: {
    argv: ["function", "run"],
    says: `missing required argument 'file': see "purlin function run --help"`,
  },
  MissingValue: {
    argv: ["function", "call", "--target"],
    says: `option '--target <host:port>' argument missing: see "purlin function call --help"`,
  },
  EmptyArgument: { argv: ["delete", "app", ""], says: `argument 'name' is empty: see "purlin delete --help"` },
  EmptyPath: { argv: ["apply", "a.yaml", "b.yaml", ""], says: `argument 'path' is empty: see "purlin apply --help"` },
  EmptyOption: {
    argv: ["get", "cm", "--namespace", ""],
    says: `option '-n, --namespace <name>' argument is empty: see "purlin get --help"`,
  },
  TooMany: {
    argv: ["function", "certs", "a", "b"],
    says: `too many arguments for 'certs'. Expected 1 argument but got 2: see "purlin function certs --help"`,
  },
};
for (const [name, { argv, says }] of Object.entries(wrong)) {
  test(`a wrong command line is one line and exit code 2: ${name}`, async () => {
    assert.deepEqual(await runInProcess(argv), { exitCode: 2, stdout: "", stderr: `error: ${says}\n` });
  });
}

test("with -o json stdout is one document, also for errors", async () => {
  using folder = tempFolder();
  const failed = async (...argv: string[]) => {
    const { exitCode, stdout, stderr } = await runInProcess(argv, { cwd: folder.path });
    const { errors } = JSON.parse(stdout) as { readonly errors: readonly { code: string; message: string }[] };
    assert.equal(stderr, `error: ${errors[0]?.message}\n`);
    return [exitCode, errors[0]?.code];
  };
  assert.deepEqual(await failed("get", "cm", "--output=json"), [1, "NO_CONTROL_PLANE"]);
  assert.deepEqual(await failed("version", "-o", "json", "--nope"), [2, "USAGE"]);
  folder.write("kubeconfig", "clusters: 1\n");
  assert.deepEqual(await failed("get", "cm", "-o", "json", "--kubeconfig", "kubeconfig"), [2, "INVALID_INPUT"]);
  folder.write(
    "down",
    "current-context: c\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: u, user: {}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n",
  );
  assert.deepEqual(await failed("get", "cm", "-o", "json", "--kubeconfig", "down"), [1, "UNREACHABLE"]);
});

test("a command that printed a document prints no second one", async () => {
  using folder = tempFolder();
  const { stdout } = await runInProcess(["version", "-o", "json"], { cwd: folder.path });
  assert.ok("clientVersion" in (JSON.parse(stdout) as object));
});

test("the way out is spelled as the user typed the command", async () => {
  const { stderr } = await runInProcess(["function", "run"], { env: { npm_command: "exec" } });
  assert.equal(stderr, `error: missing required argument 'file': see "npx purlin function run --help"\n`);
});

test("--version is the package's version", async () => {
  const { exitCode, stdout } = await runInProcess(["--version"]);
  assert.equal(exitCode, 0);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
});

test("no arguments is help, not an error", async () => {
  const { exitCode, stdout, stderr } = await runInProcess([]);
  assert.equal(exitCode, 0);
  assert.match(stdout, /^Usage: purlin \[options\] \[command\]\n/);
  assert.equal(stderr, "");
});

const asked: Record<string, { readonly argv: readonly string[]; readonly usage: string }> = {
  Alone: { argv: ["help"], usage: "Usage: purlin [options] [command]" },
  OfACommand: { argv: ["help", "up"], usage: "Usage: purlin up [options] [path...]" },
  OfAGroup: { argv: ["help", "xpkg"], usage: "Usage: purlin xpkg [options] [command]" },
  OfNothingThereIs: { argv: ["help", "nope"], usage: "Usage: purlin [options] [command]" },
  OfACommandInAGroup: { argv: ["help", "xpkg", "push"], usage: "Usage: purlin xpkg push [options] <image>" },
};
for (const [name, { argv, usage }] of Object.entries(asked)) {
  test(`purlin help is understood: ${name}`, async () => {
    const { exitCode, stdout, stderr } = await runInProcess(argv);
    assert.deepEqual({ exitCode, stderr, usage: stdout.split("\n")[0] }, { exitCode: 0, stderr: "", usage });
  });
}

test("an expected error is one line without a stack trace, whatever its text", () => {
  const io = new TestIo();
  assert.equal(reportError(new UserError("a\n  b", { exitCode: 3 }), io, { debug: false }), 3);
  assert.equal(io.stderr.text, "error: a b\n");
});

test("an unexpected error says so", () => {
  const io = new TestIo();
  assert.equal(reportError(new TypeError("x is undefined"), io, { debug: false }), 1);
  const hint = "internal error; run with --debug for a stack trace";
  assert.equal(io.stderr.text, `error: x is undefined: ${hint}\n`);
});

test("--debug shows where an error and its causes come from", () => {
  const io = new TestIo();
  const cause = new Error("inner");
  cause.cause = cause; // causes may go in circles
  reportError(new UserError("outer", { cause }), io, { debug: true });
  assert.match(io.stderr.text, /^error: outer\nUserError: outer\n {4}at .*\ncaused by Error: inner\n {4}at /s);
});

test("errors are red on a terminal only", () => {
  const io = new TestIo({ isTTY: true });
  reportError(new UserError("x"), io, { debug: false });
  assert.equal(io.stderr.text, "\u001b[31merror:\u001b[39m x\n");
});
