// SPDX-License-Identifier: Apache-2.0
// Another user of the machine wants the keys in a data directory, or has put something there first.
import assert from "node:assert/strict";
import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type PurlinProcess, spawnPurlin } from "../../../packages/cli/test/spawn-purlin.ts";
import { type OtherUser, otherUid, otherUser, plainUid, sharedFolder } from "./harness/other-user.ts";

let other: OtherUser;
before(async () => {
  other = await otherUser();
});
after(() => other[Symbol.asyncDispose]());

const isPrivate = (path: string): boolean => (lstatSync(path).mode & 0o077) === 0;

/** Starts it, and gives what it says when it refuses. */
async function refusal(directory: string, ...more: string[]): Promise<string> {
  const running = spawnPurlin(["apiserver", "--data-dir", directory, "--port", "0", ...more]);
  try {
    return (await running.next("stderr", /error: .*\n/))[0];
  } finally {
    await running.stop();
  }
}

describe("what a control plane keeps", () => {
  const folder = sharedFolder();
  const directory = join(folder.path, ".purlin");
  let running: PurlinProcess;
  before(async () => {
    const args = ["up", "--data-dir", directory, "--port", "0", "--registry-port", "0"];
    running = spawnPurlin(args, { cwd: folder.path });
    await running.next("stdout", /The control plane is ready\./);
  });
  after(async () => {
    await running.stop();
    folder[Symbol.dispose]();
  });

  const files = [
    "kubeconfig",
    "port",
    "store.db",
    "store.db-wal",
    "lock",
    "lock.pid",
    "purlin.log",
    "pki/ca.pem",
    "pki/server.pem",
    "pki/admin.pem",
    "pki/tokens.pem",
    "docker/config.json",
    "registry/port",
    "function-client/tls.key",
    "function-client/tls.crt",
  ];
  for (const file of files) {
    test(`another user cannot read ${file}`, async () => {
      assert.ok(lstatSync(join(directory, file)).isFile());
      assert.deepEqual(await other.attempt({ kind: "read", path: join(directory, file) }), { error: "EACCES" });
      assert.ok(file.endsWith(".crt") || file === "store.db-wal" || isPrivate(join(directory, file)), "its own mode");
    });
  }

  for (const name of ["", "pki", "docker", "registry", "images", "function-client", "functions"]) {
    test(`another user can neither list nor write to the folder .purlin/${name}`, async () => {
      const path = join(directory, name);
      assert.deepEqual(await other.attempt({ kind: "list", path }), { error: "EACCES" });
      assert.deepEqual(await other.attempt({ kind: "write", path: join(path, "x"), text: "" }), { error: "EACCES" });
      const link = { kind: "link", from: join(path, "link"), to: "/etc/passwd" } as const;
      assert.deepEqual(await other.attempt(link), { error: "EACCES" });
    });
  }

  for (const [what, to] of [
    ["moved away", "../gone"],
    ["replaced", "kubeconfig"],
  ] as const) {
    test(`a file of it cannot be ${what}`, async () => {
      const from = join(directory, "port");
      const outcome = await other.attempt({ kind: "rename", from, to: join(directory, to) });
      assert.deepEqual(outcome, { error: "EACCES" });
    });
  }
});

test("modes are corrected at each start", async () => {
  using folder = sharedFolder();
  const directory = join(folder.path, "data");
  const start = async (): Promise<void> => {
    const running = spawnPurlin(["apiserver", "--data-dir", directory, "--port", "0"]);
    await running.next("stdout", /API server at/);
    await running.stop();
  };
  await start();
  const loosened = [
    "kubeconfig",
    "port",
    "store.db",
    "lock",
    "pki",
    ...readdirSync(join(directory, "pki")).map((one) => `pki/${one}`),
  ];
  for (const name of loosened) chmodSync(join(directory, name), name === "pki" ? 0o755 : 0o644);
  chmodSync(directory, 0o755);
  assert.equal(
    ((await other.attempt({ kind: "list", path: directory })) as { value?: string[] }).value?.includes("pki"),
    true,
  );
  await start();
  for (const name of ["", ...loosened]) assert.ok(isPrivate(join(directory, name)), name);
});

const damages: Record<string, { readonly file: string; readonly says: RegExp }> = {
  "an authority": {
    file: "ca.pem",
    says: /pki\/ca\.pem is damaged: it is empty: restore the file from a backup, or start with/,
  },
  "a key of tokens": { file: "tokens.pem", says: /pki\/tokens\.pem is damaged: it is empty: .* --repair-certificates/ },
};
for (const [name, { file, says }] of Object.entries(damages)) {
  test(`${name} that is damaged stops the start, and is replaced when that is asked for`, async () => {
    using folder = sharedFolder();
    const directory = join(folder.path, "data");
    const start = async (...more: string[]): Promise<void> => {
      const running = spawnPurlin(["apiserver", "--data-dir", directory, "--port", "0", ...more]);
      await running.next("stdout", /API server at/);
      if (more.length > 0)
        await running.next("stderr", /was damaged: it is empty; it was replaced, and .* stops? working/);
      await running.stop();
    };
    await start();
    writeFileSync(join(directory, "pki", file), "");
    assert.match(await refusal(directory), says);
    assert.equal(lstatSync(join(directory, "pki", file)).size, 0);
    await start("--repair-certificates");
    await start();
  });
}

interface Trap {
  readonly says: RegExp;
  /** Makes the data directory, as another user or a careless one would have. */
  readonly lay: (folder: string) => Promise<unknown> | unknown;
}

const traps: Record<string, Trap> = {
  "the folder belongs to another user": {
    says: /data belongs to another user \(uid 61234, this is uid 0\): choose a folder of your own, or run "sudo chown 0 \S+data"/,
    lay: (folder) => {
      mkdirSync(join(folder, "data"));
      chownSync(join(folder, "data"), otherUid, otherUid);
    },
  },
  "every user can write to the folder": {
    says: /data is writable by other users \(mode 0777\), who may have changed its contents: check them, then run "chmod go-w/,
    lay: (folder) => {
      mkdirSync(join(folder, "data"));
      chmodSync(join(folder, "data"), 0o777);
    },
  },
  "a group of others can write to the folder": {
    says: /data is writable by other users \(mode 0770\)/,
    lay: (folder) => {
      mkdirSync(join(folder, "data"));
      chownSync(join(folder, "data"), 0, otherUid);
      chmodSync(join(folder, "data"), 0o770);
    },
  },
  "every user can replace the folder": {
    says: /\S+ is writable by other users \(mode 0777\), who could replace its contents: run "chmod go-w /,
    lay: (folder) => {
      mkdirSync(join(folder, "data"), { mode: 0o700 });
      chmodSync(folder, 0o777);
    },
  },
  "another user made it a link": {
    says: /data belongs to another user \(uid 61234/,
    lay: async (folder) => {
      mkdirSync(join(folder, "elsewhere"), { mode: 0o700 });
      chmodSync(folder, 0o1777);
      assert.deepEqual(
        await other.attempt({ kind: "link", from: join(folder, "data"), to: join(folder, "elsewhere") }),
        {},
      );
    },
  },
  "another user made the folder first": {
    says: /data belongs to another user \(uid 61234/,
    lay: async (folder) => {
      chmodSync(folder, 0o1777);
      assert.deepEqual(await other.attempt({ kind: "mkdir", path: join(folder, "data") }), {});
    },
  },
  "a file of another user is in it": {
    says: /data\/kubeconfig belongs to another user \(uid 61234, this is uid 0\): remove it, or run "sudo chown -R 0 /,
    lay: (folder) => {
      mkdirSync(join(folder, "data"), { mode: 0o700 });
      writeFileSync(join(folder, "data", "kubeconfig"), "");
      chownSync(join(folder, "data", "kubeconfig"), otherUid, otherUid);
    },
  },
  "a key of another user is in it": {
    says: /data\/pki\/ca\.pem belongs to another user \(uid 61234/,
    lay: (folder) => {
      mkdirSync(join(folder, "data", "pki"), { recursive: true, mode: 0o700 });
      writeFileSync(join(folder, "data", "pki", "ca.pem"), "");
      chownSync(join(folder, "data", "pki", "ca.pem"), otherUid, otherUid);
    },
  },
};
for (const name of ["kubeconfig", "pki", "docker", "function-client", "store.db", "port", "lock"]) {
  traps[`${name} is a link`] = {
    says: new RegExp(`data/${name.replace(".", "\\.")} is a symbolic link: replace it with a regular file or folder`),
    lay: (folder) => {
      mkdirSync(join(folder, "data"), { mode: 0o700 });
      symlinkSync("/etc", join(folder, "data", name));
    },
  };
}

for (const [name, { says, lay }] of Object.entries(traps)) {
  test(`a data directory is refused, and nothing is written to it: ${name}`, async () => {
    using folder = sharedFolder();
    await lay(folder.path);
    const directory = join(folder.path, "data");
    const entries = (): string[] => readdirSync(directory, { recursive: true }).map(String).toSorted();
    const found = name.endsWith("is a link") ? undefined : entries();
    assert.match(await refusal(directory), says);
    if (found !== undefined) assert.deepEqual(entries(), found);
  });
}

test("a plain user is refused a folder in that of another plain user, and welcome in their own", async () => {
  await using plain = await otherUser(plainUid);
  using folder = sharedFolder(0o1777);
  const lay = async (user: OtherUser, name: string): Promise<string> => {
    const path = join(folder.path, name);
    assert.deepEqual(await user.attempt({ kind: "mkdir", path }), {});
    return path;
  };
  const own = await lay(plain, "own");
  const foreign = await lay(other, "foreign");
  mkdirSync(join(foreign, "inner"));
  chownSync(join(foreign, "inner"), plainUid, plainUid);
  assert.deepEqual(await plain.attempt({ kind: "folderRisk", path: own }), { value: "" });
  for (const path of [foreign, join(foreign, "inner")]) {
    const { value } = (await plain.attempt({ kind: "folderRisk", path })) as { value: string };
    assert.match(value, /foreign belongs to another user \(uid 61234, this is uid 61235\)/, path);
  }
  const { error } = (await plain.attempt({ kind: "secureDataDir", path: foreign })) as { error: string };
  assert.match(error, /^--data-dir \S+foreign: \S+foreign belongs to another user/);
});
