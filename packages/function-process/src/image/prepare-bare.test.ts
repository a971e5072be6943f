// SPDX-License-Identifier: Apache-2.0
// The process of an image without a sandbox: its words, its environment and its folders. Nothing is started.
import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import type { ProcessConfig } from "@purlin/oci";
import { defaultFunctionLimits } from "../limits/function-limits.ts";
import type { PidNamespace } from "../limits/limit-script.ts";
import type { UnsharedNetwork } from "../sandbox/private-network.ts";
import type { GuardedProcess, Program } from "../spawn/guarded-process.ts";
import type { Supervision } from "../spawn/supervision.ts";
import { certificateFlags, networkedCommand, ownPorts, prepareBare } from "./prepare-bare.ts";
import type { ImageProgram, PreparedProgram } from "./prepare-sandboxed.ts";

interface Given {
  readonly config?: Partial<ProcessConfig>;
  readonly program?: Partial<ImageProgram>;
  readonly options?: Partial<Parameters<typeof prepareBare>[1]>;
  readonly namespace?: PidNamespace;
}

/** An unpacked image with a program, and a folder for temporary files. */
function imageFolder(): TempFolder {
  const folder = tempFolder({ "root/app/main": "binary", "root/etc/app.conf": "", "tmp/.keep": "" });
  chmodSync(join(folder.path, "root/app/main"), 0o755);
  return folder;
}

/** Prepares a process, and the program that its start would run. */
async function prepared(
  folder: TempFolder,
  { config, program, options, namespace }: Given = {},
): Promise<PreparedProgram & { readonly started: Program }> {
  let started: Program | undefined;
  const supervision = {
    limits: { ...defaultFunctionLimits, memoryBytes: 1024 ** 3, openFiles: 100 },
    containment: { namespace },
    tmpFolder: join(folder.path, "tmp/functions"),
  } as Partial<Supervision> as Supervision;
  const process = { entrypoint: ["/app/main"], cmd: [], env: [], workingDir: "/", ...config } as ProcessConfig;
  const image: ImageProgram = {
    ...{ kind: "image", root: join(folder.path, "root"), process, env: {}, needsNode: false },
    ...{ sandbox: undefined, socket: join(folder.path, "socket"), ...program },
  };
  const run = (bare: Program): GuardedProcess => {
    started = bare;
    return {} as GuardedProcess;
  };
  const bare = await prepareBare(image, {
    ...{ certificates: "/host/certs", port: 9000, machineEnv: {}, certificateFlag: certificateFlags[0], supervision },
    ...{ run, ...options },
  });
  bare.start();
  return { ...bare, started: started ?? assert.fail("nothing was started") };
}

/** The words after the shell that sets limits. */
const wordsOf = ({ command, args }: Program): readonly string[] => {
  assert.deepEqual([command, args[0], args[2]], ["/bin/sh", "-c", "purlin-limits"]);
  return args.slice(3);
};

describe("the words of a process", () => {
  test("are those of the image at their unpacked paths, then the address and the certificates", async () => {
    using folder = imageFolder();
    const at = (path: string): string => join(folder.path, "root", path);
    const { started, address } = await prepared(folder, {
      config: { cmd: ["--config=/etc/app.conf", "/none", "--tls=/tls/server/tls.crt", "plain"] },
    });
    assert.equal(address, "127.0.0.1:9000");
    assert.deepEqual(wordsOf(started), [
      ...[at("app/main"), `--config=${at("etc/app.conf")}`, "/none", "--tls=/host/certs/tls.crt", "plain"],
      ...["--address=127.0.0.1:9000", "--tls-certs-dir=/host/certs"],
    ]);
  });

  test("have the flag for certificates that the function accepts; a Provider gets no flags", async () => {
    using folder = imageFolder();
    const second = await prepared(folder, { options: { certificateFlag: certificateFlags[1] } });
    assert.deepEqual(wordsOf(second.started).slice(1), [
      "--address=127.0.0.1:9000",
      "--tls-server-certs-dir=/host/certs",
    ]);
    const provider = await prepared(folder, { options: { certificateFlag: undefined } });
    assert.equal(wordsOf(provider.started).length, 1);
  });

  test("of an image without a base begin with this process's Node in place of the first", async () => {
    using folder = imageFolder();
    const { started } = await prepared(folder, {
      config: { entrypoint: ["node", "/app/main"] },
      program: { needsNode: true },
    });
    assert.deepEqual(wordsOf(started).slice(0, 2), [process.execPath, join(folder.path, "root/app/main")]);
  });

  test("an image without a program, or whose program is missing, is refused and leaves no folder", async () => {
    using folder = imageFolder();
    await assert.rejects(prepared(folder, { config: { entrypoint: [] } }), /the image has no entry point/);
    await assert.rejects(prepared(folder, { config: { entrypoint: ["/gone"] } }), {
      message: "the image has no /gone to start",
    });
    assert.deepEqual(existsSync(join(folder.path, "tmp/functions")), false);
  });

  test("are run by a shell with the limits, in a PID namespace where there is one", async () => {
    using folder = imageFolder();
    const plain = await prepared(folder);
    assert.match(plain.started.args[1] ?? "", /ulimit -n 100;/);
    assert.match(plain.started.args[1] ?? "", /ulimit -f /);
    assert.doesNotMatch(plain.started.args[1] ?? "", /ulimit -u /);
    const namespace = { words: ["/usr/bin/unshare", "--pid"], ownUser: true, ownPidMax: false };
    const { started } = await prepared(folder, { namespace });
    assert.deepEqual([started.command, started.args[0], started.args[4]], ["/usr/bin/unshare", "--pid", "purlin-init"]);
    assert.match(started.args[3] ?? "", /ulimit -u /, "only its own processes count there");
    const shared = await prepared(folder, { namespace: { ...namespace, ownUser: false } });
    assert.doesNotMatch(shared.started.args[3] ?? "", /ulimit -u /);
  });
});

describe("the environment of a process", () => {
  const environment = async (given: Given): Promise<Readonly<Record<string, string>>> => {
    using folder = imageFolder();
    const { started } = await prepared(folder, given);
    return Object.fromEntries(
      Object.entries(started.env).map(([name, value]) => [name, value.replaceAll(join(folder.path, "root"), "ROOT")]),
    );
  };

  test("is that of this machine, the image and the control plane, the later ones first", async () => {
    const env = await environment({
      config: { env: ["A=image", "B=image", "C=/etc/app.conf", "D=x=y"] },
      program: { env: { B: "control plane" } },
      options: { machineEnv: { A: "machine", M: "machine", PATH: "/usr/bin" } },
    });
    const { TMPDIR, PATH, ...rest } = env;
    assert.deepEqual(rest, {
      ...{ A: "image", B: "control plane", C: "ROOT/etc/app.conf", D: "x=y", M: "machine" },
      ...{ METRICS_ADDRESS: "127.0.0.1:0", TLS_SERVER_CERTS_DIR: "/host/certs" },
    });
    assert.ok(TMPDIR !== undefined && PATH !== undefined);
    assert.deepEqual(ownPorts, { METRICS_ADDRESS: "127.0.0.1:0" });
  });

  test("has the folders of the image first in its path, then those of this machine", async () => {
    const path = async (config: Partial<ProcessConfig>, machineEnv: Readonly<Record<string, string>>) =>
      (await environment({ config, options: { machineEnv } }))["PATH"];
    assert.equal(await path({ env: ["PATH=/app:/none"] }, { PATH: "/usr/bin" }), "ROOT/app:/none:/usr/bin");
    assert.equal(await path({ env: ["PATH=/app"] }, {}), "ROOT/app");
    assert.match((await path({}, {})) ?? "", /^\/usr\/local\/sbin:.*:\/bin$/, "the usual path where it has none");
  });

  test("metrics and certificates of the image do not count", async () => {
    const env = await environment({
      config: { env: ["METRICS_ADDRESS=:8080", "TLS_SERVER_CERTS_DIR=/x", "TMPDIR=/x"] },
    });
    assert.deepEqual([env["METRICS_ADDRESS"], env["TLS_SERVER_CERTS_DIR"]], ["127.0.0.1:0", "/host/certs"]);
    assert.notEqual(env["TMPDIR"], "/x");
  });
});

describe("the folders of a process", () => {
  test("it starts in the folder of its image, or in its root where that is missing", async () => {
    using folder = imageFolder();
    const cwd = async (workingDir: string): Promise<string> =>
      (await prepared(folder, { config: { workingDir } })).started.cwd;
    assert.equal(await cwd("/app"), join(folder.path, "root/app"));
    assert.equal(await cwd("/none"), join(folder.path, "root/"));
    assert.equal(await cwd("/../../outside"), join(folder.path, "root/"));
  });

  test("it has a temporary folder of its own that only this user can read, and that goes with it", async () => {
    using folder = imageFolder();
    const [one, other] = [await prepared(folder), await prepared(folder)];
    assert.notEqual(one.tmp, other.tmp);
    assert.equal(one.started.env["TMPDIR"], one.tmp);
    assert.equal(statSync(join(folder.path, "tmp/functions")).mode & 0o777, 0o700);
    await one.dispose();
    assert.deepEqual([existsSync(one.tmp ?? ""), existsSync(other.tmp ?? "")], [false, true]);
    await other.dispose();
    await other.dispose();
    assert.deepEqual(readdirSync(join(folder.path, "tmp/functions")), []);
  });

  test("mounted folders are those of this machine, and scratch folders are empty ones in its temporary folder", async () => {
    using folder = imageFolder();
    const { started, tmp = "" } = await prepared(folder, {
      config: { cmd: ["/var/token/ca.crt", "/cache/a", "--work=/work"], env: ["CACHE=/cache"] },
      options: { mounts: { "/var/token": "/host/token" }, scratch: ["/cache", "/work"] },
    });
    const [, token, cache = "", work = ""] = wordsOf(started);
    assert.equal(token, "/host/token/ca.crt");
    const folders = readdirSync(tmp).map((name) => join(tmp, name));
    assert.deepEqual(new Set([cache.replace(/\/a$/, ""), work.replace("--work=", "")]), new Set(folders));
    assert.equal(`${started.env["CACHE"]}/a`, cache);
  });
});

describe("a process in a network of its own", () => {
  test("changes to its folder and gets its environment only", () => {
    const network: UnsharedNetwork = { unshare: "/usr/bin/unshare" };
    const program = { command: "/bin/main", args: ["--a", "b c"], cwd: "/work here", env: { A: "1", B: "x y=z" } };
    const { words, inputs } = networkedCommand(network, program);
    assert.deepEqual(inputs, []);
    assert.deepEqual(words, [
      ...["/usr/bin/unshare", "--user", `--map-user=${process.getuid?.()}`, `--map-group=${process.getgid?.()}`, "--"],
      ...["/bin/sh", "-c", 'cd "$1" && shift && exec env -i "$@"', "purlin-enter"],
      ...["/work here", "A=1", "B=x y=z", "/bin/main", "--a", "b c"],
    ]);
  });
});
