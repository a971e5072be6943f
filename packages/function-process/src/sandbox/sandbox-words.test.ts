// SPDX-License-Identifier: Apache-2.0
// The words of sandboxes and networks, and how a shell reads them.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import {
  isolationArguments,
  networkScript,
  privateNetworkArguments,
  type SandboxedProgram,
  sandboxCommand,
  sandboxNetworkArguments,
  shellCommand,
} from "./sandbox-arguments.ts";

const bwrap = { program: "/usr/bin/bwrap", canDisableUserns: false };

/** The arguments that bubblewrap reads from its first input. */
function viewOf(root: string, more: Partial<SandboxedProgram> = {}): readonly string[] {
  const program = { root, command: ["/main"], cwd: "/app", env: {}, tmpBytes: 1000.4, folders: {}, ...more };
  const { inputs } = sandboxCommand(bwrap, program);
  return String(inputs[0]).split("\0").slice(0, -1);
}
const after = (words: readonly string[], flag: string, count: number): string[] =>
  words.slice(words.indexOf(flag) + 1, words.indexOf(flag) + 1 + count);

describe("isolation", () => {
  test("has all namespaces, no capability, another user, and ends with its parent", () => {
    const words = isolationArguments(bwrap);
    for (const name of ["user", "pid", "ipc", "uts", "cgroup-try"])
      assert.ok(words.includes(`--unshare-${name}`), name);
    assert.deepEqual(after(words, "--cap-drop", 1), ["ALL"]);
    assert.deepEqual([after(words, "--uid", 1), after(words, "--gid", 1)], [["2000"], ["2000"]]);
    assert.ok(words.includes("--die-with-parent") && words.includes("--new-session"));
    assert.equal(words.includes("--unshare-net"), false, "the network is that of the process around it");
  });

  test("forbids further user namespaces where bubblewrap can", () => {
    assert.equal(isolationArguments(bwrap).includes("--disable-userns"), false);
    assert.equal(isolationArguments({ ...bwrap, canDisableUserns: true }).includes("--disable-userns"), true);
  });
});

describe("what a program sees", () => {
  test("its image read only, an own /proc that is read only, and a small /tmp", () => {
    using folder = tempFolder();
    const words = viewOf(folder.path);
    assert.deepEqual(after(words, "--ro-bind", 2), [folder.path, "/"]);
    const text = words.join(" ");
    assert.match(text, /--proc \/proc --remount-ro \/proc/);
    assert.match(text, /--size 16777216 --tmpfs \/dev\/shm --remount-ro \/dev --size 1000 --tmpfs \/tmp/);
    assert.match(text, /--chdir \/app --clearenv$/);
  });

  test("its variables and no others, folders read only, and folders of its own to write", () => {
    using folder = tempFolder();
    const text = viewOf(folder.path, {
      env: { A: "1", B: "x y" },
      folders: { "/tls/server": "/host/tls" },
      scratch: ["/cache"],
    }).join("|");
    assert.match(text, /--clearenv\|--setenv\|A\|1\|--setenv\|B\|x y$/);
    assert.match(text, /--ro-bind\|\/host\/tls\|\/tls\/server\|--size\|1000\|--tmpfs\|\/cache\|/);
  });

  test("a program on files of this machine sees its image in an otherwise empty root", () => {
    using folder = tempFolder({ "app/main.js": "", "etc/x": "", "usr/y": "", "tmp/z": "" });
    const files = { "/usr/bin/node": "/opt/node" };
    const text = viewOf(folder.path, { files }).join(" ");
    assert.match(text, new RegExp(`--ro-bind ${folder.path}/app /app`));
    for (const hidden of ["etc", "usr", "tmp"]) assert.equal(text.includes(`${folder.path}/${hidden} `), false, hidden);
    assert.match(
      text,
      /--ro-bind \/opt\/node \/usr\/bin\/node --ro-bind-data 7 \/etc\/passwd --ro-bind-data 8 \/etc\/group --ro-bind-data 9 \/etc\/hosts/,
    );
    assert.match(text, /--remount-ro \/ --chdir/);
  });

  test("files of the system come as texts, unless a folder is mounted there", () => {
    using folder = tempFolder();
    const program = { root: folder.path, command: ["/main"], cwd: "/", env: {}, tmpBytes: 1, files: {} };
    const texts = (folders: Readonly<Record<string, string>>) => sandboxCommand(bwrap, { ...program, folders }).texts;
    assert.deepEqual(texts({}), [
      "function:x:2000:2000:function:/tmp:/sbin/nologin\n",
      "function:x:2000:\n",
      "127.0.0.1 localhost function\n::1 localhost\n",
    ]);
    assert.equal(texts({ "/etc/hosts": "/host/hosts" })?.length, 2);
  });

  test("null bytes in a command, a variable or a path are refused", () => {
    using folder = tempFolder();
    const text = { message: "its command or environment has null bytes" };
    assert.throws(() => viewOf(folder.path, { command: ["/main", "a\0b"] }), text);
    assert.throws(() => viewOf(folder.path, { env: { A: "x\0--bind" } }), text);
    assert.throws(() => shellCommand({ words: ["a\0"], inputs: [] }), text);
  });
});

describe("networks", () => {
  test("are private unless they are shared", () => {
    assert.deepEqual(privateNetworkArguments(["/main"]), [
      "--unshare-user",
      "--unshare-net",
      "--die-with-parent",
      "--dev-bind",
      "/",
      "/",
      "--",
      "/main",
    ]);
    assert.equal(privateNetworkArguments(["/main"], true).includes("--unshare-net"), false);
  });

  test("have a connector, which may listen on low ports only where that is allowed", () => {
    const connector = { node: "/node", program: "code", port: "80:81" };
    const words = sandboxNetworkArguments(connector);
    assert.deepEqual(words.slice(words.indexOf("--") + 1), [
      "/bin/sh",
      "-c",
      networkScript,
      "purlin-network",
      "/node",
      "code",
      "80:81",
    ]);
    assert.equal(words.includes("--cap-add"), false);
    assert.deepEqual(sandboxNetworkArguments({ ...connector, mayBind: true }).slice(0, 2), [
      "--cap-add",
      "CAP_NET_BIND_SERVICE",
    ]);
  });
});

describe("commands for the shell of a network", () => {
  test("are quoted, and inputs that are not used are closed", () => {
    assert.equal(
      shellCommand({ words: ["/main", "it's", "$HOME"], inputs: [] }),
      `'/main' 'it'\\''s' '$HOME' 5<&- 6<&- 3>&- 4<&-`,
    );
    assert.equal(shellCommand({ words: ["/main"], inputs: [Buffer.from("a")] }), "'/main' 6<&- 3>&- 4<&-");
    assert.equal(shellCommand({ words: ["/main"], inputs: [Buffer.from("a"), Buffer.from("b")] }), "'/main' 3>&- 4<&-");
  });

  test("get texts as here documents", () => {
    assert.equal(
      shellCommand({ words: ["/main"], inputs: [Buffer.from("a"), Buffer.from("b")], texts: ["one\n", "two\n"] }),
      [
        "'/main' 7<<'PURLIN_END_OF_TEXT' 8<<'PURLIN_END_OF_TEXT' 3>&- 4<&-",
        "one",
        "PURLIN_END_OF_TEXT",
        "two",
        "PURLIN_END_OF_TEXT",
      ].join("\n"),
    );
  });
});
