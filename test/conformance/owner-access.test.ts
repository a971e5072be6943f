// SPDX-License-Identifier: Apache-2.0
// Both servers with the admission plugin OwnerReferencesPermissionEnforcement, which is off by default.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { defaultPlugins, startApiServer } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { startRealCluster } from "../../tools/peers/real-cluster.ts";
import type { Loose } from "./harness/loose.ts";
import { readOptions } from "./harness/options.ts";
import { send, type Target } from "./harness/wire.ts";

const { only } = readOptions(process.argv.slice(2), process.env);
const title = "both servers check the rights of users who set owner references";
const plugin = "OwnerReferencesPermissionEnforcement";

const group = "rbac.authorization.k8s.io";
const home = "/api/v1/namespaces/default";
const deployments = "/apis/apps/v1/namespaces/default/deployments";

/** The rights of each user, as `GROUP RESOURCES VERBS`. All may read and write. */
const users: Readonly<Record<string, readonly string[]>> = {
  writer: [],
  deleter: ["* configmaps,secrets,deployments,nodes delete"],
  "status-deleter": ["* deployments/status delete"],
  finalizer: ["core configmaps/finalizers update", "core nodes/finalizers update"],
  both: ["* configmaps,deployments delete", "core configmaps/finalizers update"],
  lister: ["core configmaplists/finalizers update"],
  all: ["* */finalizers update"],
  // The reason of the denial is not empty.
  broken: [],
};

const roleOf = (name: string, rules: readonly string[]): Loose => ({
  metadata: { name },
  rules: ["* * get,create,update,patch", ...rules].map((text) => {
    const [apiGroup = "", resources = "", verbs = ""] = text.split(" ");
    // A star in the resources would be the right to update all finalizers.
    const named = resources === "*" ? "configmaps,secrets,deployments,deployments/status,pods,pods/status" : resources;
    return {
      apiGroups: [apiGroup === "core" ? "" : apiGroup],
      resources: named.split(","),
      verbs: verbs.split(","),
    };
  }),
});

interface Ask {
  readonly as?: string;
  readonly body?: Loose;
}

/** Sends requests as `METHOD PATH` and keeps the answers without what differs between any two servers. */
class Conversation {
  readonly said: { readonly line: string; readonly code: number; readonly body: unknown }[] = [];
  /** The uids of the owners that exist, by what stands for them in requests. */
  readonly uids = new Map<string, string>();
  readonly #target: Target;

  constructor(target: Target) {
    this.#target = target;
  }

  async ask(line: string, { as, body }: Ask = {}): Promise<Loose> {
    const [method = "", path = ""] = line.split(" ");
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const headers = { "content-type": type, ...(as !== undefined && { "impersonate-user": as }) };
    const text = body && this.#replaced(JSON.stringify(body), this.uids);
    const answer = await send(this.#target, { method, path, headers, body: text });
    return { code: answer.code, ...(answer.body as Loose) };
  }

  #replaced(text: string, by: Iterable<readonly [string, string]>): string {
    return [...by].reduce((now, [from, to]) => now.replaceAll(from, to), text);
  }

  /** The answer is compared. */
  async compare(line: string, ask: Ask = {}): Promise<void> {
    const { code, message, reason, details, metadata } = await this.ask(line, ask);
    const body = JSON.stringify((code < 400 ? metadata.ownerReferences : { message, reason, details }) ?? null);
    const masked = body.replaceAll(/\bg-[a-z0-9]{5}\b/g, "g-RANDOM");
    this.said.push({
      line: `${line} as ${ask.as}: ${JSON.stringify(ask.body?.metadata.ownerReferences)}`,
      code,
      body: JSON.parse(
        this.#replaced(
          masked,
          [...this.uids].map(([name, uid]) => [uid, name] as const),
        ),
      ) as unknown,
    });
  }
}

const owner = (more: Loose = {}): Loose => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  name: "owner",
  uid: "UID-1",
  ...more,
});
const blocking = (more: Loose = {}): Loose => owner({ blockOwnerDeletion: true, ...more });
const owned = (...ownerReferences: Loose[]): Loose => ({ metadata: { ownerReferences } });

async function prepare(talk: Conversation): Promise<void> {
  while ((await talk.ask(`GET ${home}`)).code !== 200) await delay(50);
  for (const [name, rules] of Object.entries(users)) {
    const bindingTo = (role: string, own: string): Loose => ({
      metadata: { name: own },
      roleRef: { apiGroup: group, kind: "ClusterRole", name: role },
      subjects: [{ apiGroup: group, kind: "User", name }],
    });
    const made = [
      await talk.ask(`POST /apis/${group}/v1/clusterroles`, { body: roleOf(name, rules) }),
      await talk.ask(`POST /apis/${group}/v1/clusterrolebindings`, { body: bindingTo(name, name) }),
    ];
    if (name === "broken") {
      made.push(
        await talk.ask(`POST /apis/${group}/v1/clusterrolebindings`, { body: bindingTo("missing", "missing") }),
      );
    }
    assert.deepEqual(
      made.map(({ code }) => code).filter((code) => code !== 201),
      [],
      name,
    );
  }
  // Dependents of these are not collected as garbage; the other owners are only tried.
  for (const [index, name] of ["owner", "other"].entries()) {
    const { metadata } = await talk.ask(`POST ${home}/configmaps`, { body: { metadata: { name } } });
    talk.uids.set(`UID-${index + 1}`, metadata.uid);
  }
  // Pods need it; the embedded server makes it by itself.
  await talk.ask(`POST ${home}/serviceaccounts`, { body: { metadata: { name: "default" } } });
  const selector = { matchLabels: { a: "b" } };
  const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "c" }] } };
  await talk.ask(`POST ${deployments}`, { body: { metadata: { name: "d" }, spec: { selector, template } } });
  // The reference reads roles by watches: the last user has the last binding.
  while ((await talk.ask(`GET ${home}/configmaps/x`, { as: "broken" })).code === 403) await delay(50);
  await delay(300);
}

/** The owners of new objects, and of changed ones, by what is tried. */
const references: Readonly<Record<string, readonly Loose[]>> = {
  none: [],
  plain: [owner()],
  controller: [owner({ controller: true })],
  "not blocking": [owner({ blockOwnerDeletion: false })],
  blocking: [blocking()],
  "one of two blocking": [owner(), blocking({ name: "other", uid: "UID-2" })],
  "of the cluster": [blocking({ kind: "Node", name: "n" })],
  "another kind": [blocking({ apiVersion: "apps/v1", kind: "Deployment", name: "d" })],
  "a kind in lower case": [blocking({ kind: "configmap" })],
  "a list": [blocking({ kind: "ConfigMapList" })],
  "an unknown kind": [blocking({ kind: "Nonsense" })],
  "an unknown version": [blocking({ apiVersion: "v9" })],
  "an unknown group": [blocking({ apiVersion: "example.org/v1", kind: "Nonsense" })],
  "an unknown kind that does not block": [owner({ apiVersion: "example.org/v1", kind: "Nonsense" })],
  "a wrong version": [blocking({ apiVersion: "a/b/c" })],
  "of another namespace's scope": [blocking({ kind: "Namespace", name: "default" })],
};

async function converse(target: Target): Promise<Conversation["said"]> {
  const talk = new Conversation(target);
  await prepare(talk);
  for (const as of Object.keys(users)) {
    for (const [what, ownerReferences] of Object.entries(references)) {
      const name = `${as}-${what.replaceAll(/[^a-z]/g, "-")}`;
      await talk.compare(`POST ${home}/configmaps?dryRun=All`, { as, body: { metadata: { name, ownerReferences } } });
      await talk.compare(`POST ${home}/configmaps?dryRun=All`, {
        as,
        body: { metadata: { generateName: "g-", ownerReferences } },
      });
    }
    await changes(talk, as);
  }
  return talk.said;
}

/** Changes of objects that exist, from each list of owners to another. */
async function changes(talk: Conversation, as: string): Promise<void> {
  const steps: readonly (readonly [from: Loose[], to: Loose[]])[] = [
    [[], [owner()]],
    [[owner()], []],
    [[owner()], [owner()]],
    [[owner()], [owner({ controller: true })]],
    [[owner()], [blocking()]],
    [[blocking()], [blocking()]],
    [[blocking()], [blocking({ controller: true })]],
    [[blocking()], [owner()]],
    [[blocking()], [blocking(), blocking({ kind: "Nonsense", uid: "UID-2" })]],
    [
      [owner(), blocking({ name: "other", uid: "UID-2" })],
      [blocking({ name: "other", uid: "UID-2" }), owner()],
    ],
    [[], [blocking({ apiVersion: "apps/v1", kind: "Deployment", name: "d" })]],
  ];
  for (const [index, [from, to]] of steps.entries()) {
    const name = `${as}-change-${index}`;
    await talk.ask(`POST ${home}/configmaps`, { body: { metadata: { name, ownerReferences: from } } });
    await talk.compare(`PATCH ${home}/configmaps/${name}?dryRun=All`, {
      as,
      body: { ...owned(...to), data: { a: "1" } },
    });
    const { metadata } = await talk.ask(`GET ${home}/configmaps/${name}`);
    await talk.compare(`PUT ${home}/configmaps/${name}?dryRun=All`, {
      as,
      body: { metadata: { ...metadata, ownerReferences: to } },
    });
    await talk.compare(`PATCH ${deployments}/d/status?dryRun=All`, { as, body: owned(...to) });
  }
  const spec = { containers: [{ name: "c", image: "c" }], automountServiceAccountToken: false };
  await talk.ask(`POST ${home}/pods`, { body: { metadata: { name: `${as}-pod` }, spec } });
  await talk.compare(`PATCH ${home}/pods/${as}-pod?dryRun=All`, { as, body: owned(owner()) });
  await talk.compare(`PATCH ${home}/pods/${as}-pod/status?dryRun=All`, { as, body: owned(blocking()) });
}

async function reference(): Promise<Conversation["said"]> {
  const cluster = await startRealCluster({ apiserverFlags: [`--enable-admission-plugins=${plugin}`] });
  try {
    const { server, caPem, admin } = cluster;
    return await converse({ server, caPem, certPem: admin.certPem, keyPem: admin.keyPem });
  } finally {
    await cluster.stop();
  }
}

async function embedded(directory: string): Promise<Conversation["said"]> {
  await using server = await startApiServer({
    kinds: builtinKinds,
    directory,
    admissionPlugins: [...defaultPlugins, plugin],
  });
  const { url } = await server.listen();
  const { authority, admin } = server.certificates;
  return await converse({ server: url, caPem: authority.certPem, certPem: admin.certPem, keyPem: admin.keyPem });
}

async function compareServers(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "conformance-owners-"));
  try {
    const was = await reference();
    const is = await embedded(directory);
    assert.equal(is.length, was.length);
    const counts = Object.groupBy(was, ({ code }) => code);
    for (const code of [200, 201, 403, 422]) assert.ok(counts[code] !== undefined, `some answers are ${code}`);
    for (const [index, said] of was.entries()) assert.deepEqual(is[index], said);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

if (only.length === 0 || only.some((part) => title.includes(part))) test(title, compareServers);
