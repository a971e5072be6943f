// SPDX-License-Identifier: Apache-2.0
// For tests of controllers, here and in the packages above. Nothing that is shipped may import it.

import assert from "node:assert/strict";
import { cpSync, rmSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { type ApiServerOptions, mastersGroup, startApiServer, type User } from "@purlin/kube-apiserver";
import { serverDirectory } from "@purlin/kube-apiserver/testing";
import { builtinKinds } from "@purlin/kube-builtin";
import {
  createDirectTransport,
  createInformerPool,
  createKubeClient,
  type InformerPool,
  type KubeClient,
  type KubeRequest,
  type KubeTransport,
} from "@purlin/kube-client";
import { findStatusError } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf, objectAt, objectsAt, textAt } from "@purlin/kube-objects/object";
import { installCrds } from "../src/crd/install-crds.ts";

/** An API server that a test has to itself. */
export interface TestServer {
  /** A transport to it with all permissions, or with those of a user where the server is the embedded one. */
  connect(userAgent?: string, user?: User): KubeTransport;
  stop(): Promise<void>;
}

/** Options of the embedded server; a server of another kind ignores them. */
type EmbeddedOptions = Pick<ApiServerOptions, "guardDelete">;

interface TestServerOptions extends EmbeddedOptions {
  /** What the server serves beside the built-in kinds. */
  readonly crds?: readonly KubeObject[];
}

let startOther: (() => Promise<TestServer>) | undefined;

/** Makes all tests of this process run on servers of another kind. */
export function serveTestsFrom(other: () => Promise<TestServer>): void {
  startOther = other;
}

/** Starts one: the embedded server in this process, unless another kind was asked for. */
export async function startTestServer({ crds = [], ...options }: TestServerOptions = {}): Promise<TestServer> {
  if (startOther === undefined) return startEmbedded(await preparedDirectory(crds), options);
  const server = await startOther();
  await install(server, crds);
  return server;
}

/** Directories of stopped servers by the CRDs that they store. */
const prepared = new Map<string, Promise<string>>();

/**
 * A directory of a server that has bootstrapped and stores the CRDs. Each set of CRDs is installed once in a process; a server then starts
 * on a copy of the directory, which takes a fifth of the time.
 */
async function preparedDirectory(crds: readonly KubeObject[]): Promise<string> {
  const key = JSON.stringify(crds);
  const source = prepared.get(key) ?? prepare(crds);
  prepared.set(key, source);
  const directory = serverDirectory();
  cpSync(await source, directory, { recursive: true });
  return directory;
}

async function prepare(crds: readonly KubeObject[]): Promise<string> {
  const directory = serverDirectory();
  const server = await startApiServer({ kinds: builtinKinds, directory });
  try {
    await install({ connect: () => createDirectTransport(server.handle, admin) }, crds);
  } finally {
    await server.close();
  }
  return directory;
}

async function install(server: Pick<TestServer, "connect">, crds: readonly KubeObject[]): Promise<void> {
  if (crds.length === 0) return;
  const client = createKubeClient(server.connect());
  try {
    await installCrds(client, crds);
  } finally {
    await client.close();
  }
}

const admin: User = { name: "admin", groups: [mastersGroup] };

async function startEmbedded(directory: string, options: EmbeddedOptions): Promise<TestServer> {
  const server = await startApiServer({ ...options, kinds: builtinKinds, directory });
  return {
    connect: (userAgent, user = admin) => createDirectTransport(server.handle, user, userAgent),
    async stop() {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** A transport, and every request that went through it. */
interface RecordedRequests {
  readonly transport: KubeTransport;
  /** As `METHOD path`, watches included; a test may take lines away. */
  readonly sent: string[];
  /** Those that write, since the last call. */
  takeWrites(): string[];
}

/** Notes every request before it is sent; several transports may share their list of writes. */
export function recordRequests(inner: KubeTransport, writes: string[] = []): RecordedRequests {
  const sent: string[] = [];
  const noted = (request: KubeRequest): KubeRequest => {
    const { method, path, query = {} } = request;
    const line = `${method} ${path}${query["dryRun"] === undefined ? "" : " (dry run)"}`;
    sent.push(line);
    if (method !== "GET") writes.push(line);
    return request;
  };
  const transport = {
    ...inner,
    request: (request: KubeRequest) => inner.request(noted(request)),
    stream: (request: KubeRequest) => inner.stream(noted(request)),
  };
  return { transport, sent, takeWrites: () => writes.splice(0) };
}

// The garbage collector of a cluster looks for new kinds every half minute, and on a busy machine it may miss a turn.
const patienceMs = 120_000;
const pauseMs = 5;

/** Looks again and again until there is something to see, and gives it. What a look throws counts as nothing. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const end = performance.now() + patienceMs;
  let failure: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > end) throw new Error(`waited in vain: ${what}`, { cause: failure });
    await delay(pauseMs);
  }
}

/** An API server, a client that counts what it sends, and a pool of informers. */
export interface EmbeddedCluster extends AsyncDisposable {
  readonly client: KubeClient;
  readonly informers: InformerPool;
  /** The requests sent so far, as `METHOD path`. */
  readonly sent: string[];
  /** Those of them that write. */
  writes(): string[];
}

/** Starts one; dispose of it in the end. */
export async function startEmbeddedCluster(): Promise<EmbeddedCluster> {
  const server = await startTestServer();
  const { transport, sent } = recordRequests(server.connect());
  const client = createKubeClient(transport);
  const informers = createInformerPool(client);
  return {
    client,
    informers,
    sent,
    writes: () => sent.filter((line) => !line.startsWith("GET ")),
    async [Symbol.asyncDispose]() {
      await informers.stop();
      await client.close();
      await server.stop();
    },
  };
}

/** The fields of a CRD about which `kubectl explain` has nothing to say, as `Kind version: path`. */
export function undescribedFields(crd: KubeObject): string[] {
  const kind = textAt(crd, ["spec", "names", "kind"]);
  return objectsAt(crd, ["spec", "versions"]).flatMap((version) => {
    const root = objectAt(version, ["schema", "openAPIV3Schema"]);
    const missing = typeof root["description"] === "string" ? [] : ["(the kind itself)"];
    // The API server describes metadata by itself, and refuses a description of it in a CRD.
    const fields = fieldsOf(root, "").filter((path) => path !== ".metadata");
    return [...missing, ...fields].map((path) => `${kind} ${version["name"]}: ${path}`);
  });
}

function fieldsOf(schema: JsonObject, path: string): string[] {
  const inner = [schema["items"], schema["additionalProperties"]].filter((one) => isJsonObject(one));
  const properties = isJsonObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  return [
    ...inner.flatMap((one) => fieldsOf(one, path)),
    ...properties.flatMap(([name, field]) => {
      const own = `${path}.${name}`;
      if (!isJsonObject(field)) return [own];
      return [...(field["description"] ? [] : [own]), ...fieldsOf(field, own)];
    }),
  ];
}

/** Fails when the server judges an object otherwise than the case says. */
export async function judgeCrdCase(
  client: KubeClient,
  { object, change, through, refused, stored }: CrdCase,
): Promise<void> {
  if (change === undefined) {
    await judge(() => client.create(object), refused);
    return judgeStored(client, object, stored);
  }
  const { apiVersion, kind } = await client.create(object);
  const type = { apiVersion: through ?? apiVersion, kind, ...keyOf(object) };
  const patch: JsonObject = "metadata" in change ? change : { spec: change };
  await judge(() => client.patch(type, patch, { type: "merge" }), refused);
}

async function judgeStored(client: KubeClient, object: KubeObject, stored: CrdCase["stored"]): Promise<void> {
  if (stored === undefined) return;
  const found = await client.get(object, keyOf(object));
  for (const [path, value] of Object.entries(stored)) assert.deepEqual(at(found, path), value, path);
}

async function judge(write: () => Promise<KubeObject>, refused: CrdCase["refused"]): Promise<void> {
  if (refused === undefined) {
    await write();
    return;
  }
  const [field, text] = refused;
  await assert.rejects(write, (error: unknown) => {
    const status = findStatusError(error);
    assert.ok(status, String(error));
    assert.equal(status.code, 422, status.message);
    const causes = (status.status.details?.causes ?? []).map((cause) => `${cause.field}: ${cause.message}`);
    assert.ok(
      causes.some((cause) => cause.startsWith(`${field}: `) && cause.includes(text)),
      `wanted ${field}: …${text}…, got\n${causes.join("\n")}`,
    );
    return true;
  });
}

function at(object: KubeObject, path: string): unknown {
  return path.split(".").reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], object);
}

/** An object, what happens to it, and what the server says. */
export interface CrdCase {
  readonly reason: string;
  readonly object: KubeObject;
  /** A merge patch after the object was created. Then it is the patch that is judged. */
  readonly change?: JsonObject;
  /** The version the patch goes through, when it is another. */
  readonly through?: string;
  /** Field and text of the refusal. Absent: accepted. */
  readonly refused?: readonly [field: string, text: string];
  /** Members of the object when it is read back, by path. */
  readonly stored?: Readonly<Record<string, JsonValue | undefined>>;
}

/** The error for a value that may be set once. */
export const immutableText = "Value is immutable";

let numbers = 0;

/** Another number each time, for names. */
export function nextNumber(): number {
  return ++numbers;
}
