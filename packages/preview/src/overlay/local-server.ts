// SPDX-License-Identifier: Apache-2.0

import { createMemoryServer, type MemoryServer, mastersGroup } from "@purlin/kube-apiserver";
import { builtinKinds } from "@purlin/kube-builtin";
import { createDirectTransport, createKubeClient, isNoMatch, type KubeClient } from "@purlin/kube-client";
import { printJson } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, type TypeRef } from "@purlin/kube-objects/object";

const user = { name: "preview", groups: [mastersGroup] };

/** Finds the CustomResourceDefinition that serves a kind, as the preview sees it. */
type FindDefinition = (type: TypeRef) => Promise<KubeObject | undefined>;

/**
 * The API server's own request handling in memory, for writes that the live server cannot judge: a second write to an object, or objects
 * of a kind or namespace that does not exist yet.
 */
export class LocalServer {
  readonly #server: MemoryServer;
  readonly #client: KubeClient;
  readonly #findDefinition: FindDefinition;
  readonly #definitions = new Map<string, { readonly spec: string; readonly served: Promise<KubeObject> }>();

  constructor(findDefinition: FindDefinition) {
    this.#findDefinition = findDefinition;
    this.#server = createMemoryServer({ kinds: builtinKinds });
    this.#client = createKubeClient(createDirectTransport(this.#server.handle, user));
  }

  /** Whether writes of the kind can be judged here. Loads its definition. */
  async serves(type: TypeRef): Promise<boolean> {
    const crd = await this.#findDefinition(type);
    if (crd !== undefined) await this.define(crd);
    try {
      await this.#client.mapper.mapping(type);
      return true;
    } catch (error) {
      if (isNoMatch(error)) return false;
      throw error;
    }
  }

  /** Serves a CustomResourceDefinition. Resolves to it with the status that an API server gives it. */
  define(crd: KubeObject): Promise<KubeObject> {
    const name = crd.metadata.name ?? "";
    const spec = printJson(memberAt(crd, ["spec"]) ?? null);
    const known = this.#definitions.get(name);
    if (known?.spec === spec) return known.served;
    const served = (known?.served ?? Promise.resolve()).then(() => this.#serve(crd));
    this.#definitions.set(name, { spec, served });
    return served;
  }

  async #serve(crd: KubeObject): Promise<KubeObject> {
    await this.#server.put(crd);
    await this.#server.served();
    this.#client.mapper.forget();
    return this.#client.get(crd, { name: crd.metadata.name ?? "" });
  }

  /** An object as the server shows it: pruned and with defaults by the definition of its kind. */
  async shown(object: KubeObject): Promise<KubeObject> {
    if (!(await this.serves(object))) return object;
    await this.#put(object);
    return this.#client.get(object, { namespace: object.metadata.namespace, name: object.metadata.name ?? "" });
  }

  /** Runs a write against an object as it is now. Nothing of it is kept. `send` gets the resourceVersion that stands for the object here. */
  async write(
    target: KubeObject,
    current: KubeObject | undefined,
    send: (client: KubeClient, resourceVersion: string | undefined) => Promise<KubeObject>,
  ): Promise<KubeObject> {
    const { namespace } = target.metadata;
    if (namespace)
      await this.#server.put({ ...namespaceType, metadata: { name: namespace }, status: { phase: "Active" } });
    if (current === undefined) {
      await this.#server.remove(target);
      return send(this.#client, undefined);
    }
    return send(this.#client, await this.#put(current));
  }

  async #put(object: KubeObject): Promise<string | undefined> {
    return this.#server.put(object);
  }

  close(): Promise<void> {
    return this.#server.close();
  }
}

const namespaceType = { apiVersion: "v1", kind: "Namespace" } as const;
