// SPDX-License-Identifier: Apache-2.0
// Kubeconfig files that count together, as kubectl reads a list of them.
import assert from "node:assert/strict";
import { delimiter, join } from "node:path";
import { describe, test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { TestIo } from "../../test/test-io.ts";
import { kubeconfigVariable, readAccess, readContexts } from "./cluster-client.ts";

interface Entries {
  readonly current?: string;
  /** Servers by the name of their cluster. */
  readonly clusters?: Readonly<Record<string, string>>;
  /** Tokens by the name of their user. */
  readonly users?: Readonly<Record<string, string>>;
  /** Cluster, user and namespace by the name of the context. */
  readonly contexts?: Readonly<Record<string, readonly [cluster: string, user: string, namespace?: string]>>;
}

function kubeconfig({ current, clusters = {}, users = {}, contexts = {} }: Entries): string {
  return JSON.stringify({
    ...{ apiVersion: "v1", kind: "Config", ...(current !== undefined && { "current-context": current }) },
    clusters: Object.entries(clusters).map(([name, server]) => ({ name, cluster: { server } })),
    users: Object.entries(users).map(([name, token]) => ({ name, user: { token } })),
    contexts: Object.entries(contexts).map(([name, [cluster, user, namespace]]) => ({
      name,
      context: { cluster, user, ...(namespace !== undefined && { namespace }) },
    })),
  });
}

interface Access {
  readonly server: string;
  readonly namespace: string | undefined;
  readonly token: string | undefined;
}

/** The access that files describe together, in this order. */
async function accessOf(files: Readonly<Record<string, string>>, context?: string): Promise<Access> {
  using folder = tempFolder(files);
  const io = new TestIo({ cwd: folder.path });
  const paths = Object.keys(files).map((name) => join(folder.path, name));
  const access = await readAccess([...paths, join(folder.path, "missing")], { args: [], options: { context } }, io);
  const { bearerToken: token } = await access.credentials.current();
  return { server: access.server, namespace: access.namespace, token };
}

const first = kubeconfig({
  current: "dev",
  clusters: { c: "https://first:6443" },
  users: { u: "token-1" },
  contexts: { dev: ["c", "u", "team"] },
});
const second = kubeconfig({
  current: "prod",
  clusters: { c: "https://second:6443", d: "https://d:6443" },
  users: { u: "token-2", v: "token-v" },
  contexts: { dev: ["d", "v"], prod: ["d", "v", "live"], mixed: ["c", "v"] },
});

describe("several kubeconfig files", () => {
  test("the first one that says something wins; missing files are skipped", async () => {
    const { server, namespace } = await accessOf({ first, second });
    assert.deepEqual([server, namespace], ["https://first:6443", "team"]);
    const other = await accessOf({ second, first });
    assert.deepEqual([other.server, other.namespace], ["https://d:6443", "live"]);
  });

  test("a context may name the cluster of one file and the user of another", async () => {
    const { server, token, namespace } = await accessOf({ first, second }, "mixed");
    assert.deepEqual([server, token, namespace], ["https://first:6443", "token-v", undefined]);
  });

  test("a file without a current context leaves it to the next one", async () => {
    const none = kubeconfig({ clusters: { x: "https://x:6443" } });
    assert.equal((await accessOf({ none, second })).server, "https://d:6443");
  });

  test("contexts are listed once each, in the order of the files", async () => {
    using folder = tempFolder({ first, second });
    const paths = ["first", "gone", "second"].map((name) => join(folder.path, name));
    assert.deepEqual(await readContexts(paths, new TestIo({ cwd: folder.path })), ["dev", "prod", "mixed"]);
  });

  test("a context that none of them has is an error with its name", async () => {
    await assert.rejects(accessOf({ first, second }, "gone"), /gone/);
  });
});

describe("a kubeconfig file", () => {
  test("alone must be there, and be one", async () => {
    using folder = tempFolder({ list: "- a\n" });
    const io = new TestIo({ cwd: folder.path });
    await assert.rejects(
      readContexts([join(folder.path, "gone")], io),
      /cannot read the kubeconfig .*gone: no such file/,
    );
    await assert.rejects(readContexts([join(folder.path, "list")], io));
    folder.write("empty", "apiVersion: v1\nkind: Config\n");
    assert.deepEqual(await readContexts([join(folder.path, "empty")], io), []);
  });

  test("has paths that are seen from its folder", async () => {
    using folder = tempFolder({ "keys/token": "from-a-file\n" });
    const config = {
      ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
      clusters: [{ name: "c", cluster: { server: "https://c:6443" } }],
      users: [{ name: "u", user: { tokenFile: "../keys/token" } }],
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    };
    const path = folder.write("config/kubeconfig", JSON.stringify(config));
    const io = new TestIo({ cwd: "/" });
    const access = await readAccess([path], { args: [], options: {} }, io);
    const { bearerToken: token } = await access.credentials.current();
    assert.equal(token, "from-a-file");
  });
});

describe("$KUBECONFIG", () => {
  const listed = (value: string | undefined): readonly string[] | undefined =>
    kubeconfigVariable({ cwd: "/project", env: value === undefined ? {} : { KUBECONFIG: value } });

  test("is a list of files, seen from here, without empty parts", () => {
    assert.deepEqual(listed(["/a", "b", "", "../c"].join(delimiter)), ["/a", "/project/b", "/c"]);
  });

  test("that is unset or empty lists nothing", () => {
    for (const value of [undefined, "", delimiter]) assert.equal(listed(value), undefined);
  });
});
