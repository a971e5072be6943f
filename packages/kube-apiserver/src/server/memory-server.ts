// SPDX-License-Identifier: Apache-2.0
import { generateKeyPairSync } from "node:crypto";
import type { JsonObject } from "@purlin/kube-objects/json";
import { parseApiVersion } from "@purlin/kube-objects/object";
import { metaOf, withMeta } from "../objects/object-members.ts";
import { objectKey, type ResourceType } from "../registry/registry.ts";
import { inStoredOrder, objectCodec } from "../rest/object-codec.ts";
import type { Log } from "../store/change-log.ts";
import { defaultHistory } from "../store/history.ts";
import { LogStore } from "../store/log-store.ts";
import type { Codec, Store } from "../store/store.ts";
import { Decoder } from "../store/version.ts";
import type { KindSource } from "../strategy/kind-rules.ts";
import type { Handler } from "./handler.ts";
import { createServerCore, type ServerCore } from "./server-core.ts";

/**
 * The request handling of an API server over objects in memory: decoding, defaults, validation, server-side apply. It has no controllers
 * beside the one that serves CustomResourceDefinitions, and no objects but those that are put into it.
 */
export interface MemoryServer {
  readonly handle: Handler;
  /** Stores an object as it is, without checks. Resolves to its resourceVersion, or undefined when its kind is not served. */
  put(object: JsonObject): Promise<string | undefined>;
  /** Removes an object that was put, without checks. */
  remove(object: JsonObject): Promise<void>;
  /** Resolves when every CustomResourceDefinition that was put is served, or known not to be. */
  served(): Promise<void>;
  close(): Promise<void>;
}

/** Makes a server that serves these kinds. */
export function createMemoryServer({ kinds }: { readonly kinds: KindSource }): MemoryServer {
  const store = openMemoryStore<JsonObject>(objectCodec);
  const core = createServerCore({
    store,
    kinds,
    tokenKey: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
    frontProxyClient: () => {
      throw new Error("a server in memory forwards no requests");
    },
    address: () => "",
    snapshot: () => Promise.reject(new Error("a server in memory makes no snapshots")),
  });
  core.crds.start();
  core.lifecycle.areKindsServed = true;
  core.lifecycle.isBootstrapped = true;
  return {
    handle: core.handle,
    async put(object) {
      const type = typeOf(core, object);
      if (type === undefined) return undefined;
      const { namespace = "", name = "" } = metaOf(object);
      const stored = core.services.strategyOf(type).storage.toStored(object);
      const { revision } = await store.write(objectKey(type, namespace, name), (transaction) => {
        const value = inStoredOrder(withMeta(stored, { resourceVersion: String(transaction.revision) }), type);
        return { action: "put", value };
      });
      return String(revision ?? "");
    },
    async remove(object) {
      const type = typeOf(core, object);
      const { namespace = "", name = "" } = metaOf(object);
      if (type === undefined) return;
      await store.write(objectKey(type, namespace, name), ({ current }) => ({
        action: current === undefined ? "keep" : "delete",
      }));
    },
    served: () => core.crds.settled(),
    async close() {
      await core.crds.stop();
      core.configured.close();
      await store.close();
    },
  };
}

function typeOf(core: ServerCore, object: JsonObject): ResourceType | undefined {
  const { group, version } = parseApiVersion(String(object["apiVersion"] ?? ""));
  const served = core
    .catalog()
    .group(group)
    ?.versions.find((one) => one.version === version);
  return served?.resources.find(({ kind }) => kind === object["kind"]);
}

const decodedBytes = 64 * 1024 * 1024;

/** A log that keeps nothing. */
const noLog: Log = {
  compactedRevision: 1,
  read: () => [],
  commit() {},
  problem: () => undefined,
  freeBytes: () => Number.MAX_SAFE_INTEGER,
  checkpoint() {},
  copyTo: () => Promise.reject(new Error("a store in memory cannot be copied to a file")),
  close() {},
};

/** A store without a disk: what it holds is lost when it is closed. */
export function openMemoryStore<T extends object>(codec: Codec<T>): Store<T> {
  return new LogStore<T>({
    log: noLog,
    directory: { path: "memory", release() {} },
    codec,
    decoder: new Decoder(codec, decodedBytes),
    limits: defaultHistory,
    now: Date.now,
  });
}
