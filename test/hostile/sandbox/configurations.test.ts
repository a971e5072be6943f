// SPDX-License-Identifier: Apache-2.0
// The sandbox as root, as a plain user, inside of containers, and with bubblewrap in odd places.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { findSandbox, type SandboxSupport } from "@purlin/function-process";
import { assertShutIn, explorationBody } from "./exploration.ts";
import { assertRefused, type CallResults, callPrograms, callsText } from "./forbidden-calls.ts";
import { type Loot, makeImage } from "./sandboxed-function.ts";

const probe = join(import.meta.dirname, "configuration-probe.ts");
const isRoot = process.getuid?.() === 0;
/** A number that no user has; root can become it. */
const plainUser = 64_017;

const machine = await findSandbox();
assert.ok(machine.isSupported, JSON.stringify(machine));
const bwrap = machine.program;

/** One image for all of them: making it takes longer than running it. */
const image = await makeImage({
  body: `return {
    uid: process.getuid(),
    filter: /^Seccomp:\\s(\\d)/m.exec(fs.readFileSync("/proc/self/status", "utf8"))?.[1],
    folders: fs.readdirSync("/").sort(),
    token: process.env.SECRET_TOKEN ?? "none",
    interfaces: Object.keys(os.networkInterfaces()).join(),
    calls: process.getuid() === 2000 && ${callsText},
    exploration: process.getuid() === 2000 && await (async () => { ${explorationBody} })(),
  };`,
  programs: callPrograms(),
});
after(() => image[Symbol.dispose]());

interface Outcome extends Loot {
  readonly support: SandboxSupport;
}

interface Configuration {
  /** Words before those that start Node. */
  readonly wrapper?: readonly string[];
  /** By the folder that belongs to the test. */
  readonly env?: ((folder: string) => Record<string, string>) | undefined;
  readonly isPlainUser?: boolean;
}

/** A folder that only a user can use, as a home and for temporary files. */
function homeOf(uid: number | undefined): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "purlin-home-"));
  if (uid !== undefined) chownSync(path, uid, uid);
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

function start({ wrapper = [], env = () => ({}), isPlainUser = false }: Configuration): Outcome {
  const changes = isPlainUser && isRoot;
  using home = homeOf(changes ? plainUser : undefined);
  const become = [
    "/usr/bin/setpriv",
    "--reuid",
    String(plainUser),
    "--regid",
    String(plainUser),
    "--clear-groups",
    "--",
  ];
  const [command = "", ...args] = [...(changes ? become : []), ...wrapper, process.execPath, probe, image.root];
  const { stdout, stderr, status } = spawnSync(command, args, {
    cwd: home.path,
    encoding: "utf8",
    env: { PATH: process.env["PATH"] ?? "", HOME: home.path, TMPDIR: home.path, ...env(home.path) },
  });
  assert.equal(status, 0, `${stdout}${stderr}`);
  return JSON.parse(stdout) as Outcome;
}

function assertSandboxed({ support, found, places }: Outcome): void {
  assert.ok(support.isSupported, JSON.stringify(support));
  assert.deepEqual([found["uid"], found["filter"], found["token"]], [2000, "2", "none"]);
  const known = new Set(["dev", "etc", "function", "lib", "lib64", "nix", "proc", "purlin", "tls", "tmp", "usr"]);
  assert.deepEqual(
    (found["folders"] as string[]).filter((name) => !known.has(name)),
    [],
  );
  assertRefused(found["calls"] as CallResults);
  assertShutIn({ found: found["exploration"] as Loot["found"], places });
}

/** A machine that forbids further user namespaces, as many containers do. */
const container = [bwrap, "--unshare-user", "--disable-userns", "--dev-bind", "/", "/", "--proc", "/proc", "--"];

/**
 * A container that allows user namespaces, with parts of /proc masked as container engines do it. The kernel then refuses a new /proc in a
 * user namespace, as that would show what is masked.
 */
const maskedProc = [
  ...["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "--"],
  ...["/bin/sh", "-c", 'mount -t tmpfs -o ro tmpfs /proc/bus && mount --bind /dev/null /proc/version && exec "$@"'],
  "sh",
];

const sandboxed: Record<string, Configuration> = {
  "as the user who runs the tests": {},
  "as a plain user": { isPlainUser: true },
  "as root of a user namespace": { wrapper: ["unshare", "--user", "--map-root-user", "--mount", "--"] },
  "as a plain user who is root of a user namespace": {
    wrapper: ["unshare", "--user", "--map-root-user", "--mount", "--"],
    isPlainUser: true,
  },
  "with bubblewrap outside the PATH": { env: () => ({ PATH: "/nonexistent" }) },
  "with an empty PATH": { env: () => ({ PATH: "" }) },
  "as a plain user with bubblewrap outside the PATH": { env: () => ({ PATH: "/nonexistent" }), isPlainUser: true },
  "with a program of that name in the working folder, which the PATH lists first": {
    env: (home) => {
      plant(home, 0o755);
      return { PATH: `.::${process.env["PATH"] ?? ""}` };
    },
  },
  "with a program of that name in a folder that all users can write to": {
    env: (home) => {
      plant(join(home, "open"), 0o755);
      chmodSync(join(home, "open"), 0o777);
      return { PATH: `${join(home, "open")}:${process.env["PATH"] ?? ""}` };
    },
  },
};

/** Puts a program in the place of bubblewrap that would run everything without a sandbox. */
function plant(folder: string, mode: number): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, "bwrap");
  copyFileSync("/bin/true", path);
  chmodSync(path, mode);
  return path;
}

for (const [name, configuration] of Object.entries(sandboxed)) {
  test(`functions run in a sandbox with its system call filter ${name}`, () => {
    const outcome = start(configuration);
    assertSandboxed(outcome);
    assert.ok(outcome.support.isSupported && outcome.support.program === bwrap, JSON.stringify(outcome.support));
  });
}

interface BareConfiguration extends Configuration {
  readonly says: RegExp;
  /** Functions have no network of their own either. */
  readonly isWithoutNetwork?: boolean;
}

const without: Record<string, BareConfiguration> = {
  "in a container without user namespaces": {
    wrapper: container,
    says: /^bwrap does not work here: bwrap: .*namespace/,
    isWithoutNetwork: true,
  },
  "as a plain user in a container without user namespaces": {
    wrapper: container,
    isPlainUser: true,
    says: /^bwrap does not work here: bwrap: .*namespace/,
    isWithoutNetwork: true,
  },
  "in a container with user namespaces and masked parts of /proc": {
    wrapper: maskedProc,
    says: /^bwrap does not work here: bwrap: Can't mount proc on/,
  },
  "as a plain user in a container with user namespaces and masked parts of /proc": {
    wrapper: maskedProc,
    isPlainUser: true,
    says: /^bwrap does not work here: bwrap: Can't mount proc on/,
  },
  "when it is turned off": { env: () => ({ PURLIN_SANDBOX: "none" }), says: /^PURLIN_SANDBOX=none$/ },
  "when the program that is named can be replaced by all users": {
    env: (home) => ({ PURLIN_SANDBOX: plant(home, 0o777) }),
    says: /^\/.*\/bwrap is not used: other users can write to it$/,
  },
};

for (const [name, { says, isWithoutNetwork = false, ...configuration }] of Object.entries(without)) {
  test(`functions run without a sandbox, and the reason is given, ${name}`, () => {
    const { support, found } = start(configuration);
    assert.match(support.isSupported ? "there is a sandbox" : support.reason, says);
    assert.equal(found["token"], "none", "the environment of the control plane");
    const hasNetwork = !support.isSupported && support.network !== undefined;
    assert.equal(hasNetwork, !isWithoutNetwork, "where user namespaces can be made, so can a network");
    if (hasNetwork) assert.equal(found["interfaces"], "lo");
  });
}
