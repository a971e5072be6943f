// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient } from "@purlin/kube-controller";
import type { KubeObject, ObjectKey, TypeRef } from "@purlin/kube-objects/object";

/** One call of a client, before it is made. */
export interface ClientCall {
  readonly method: "get" | "list" | "live get" | "create" | "update" | "patch" | "apply" | "delete";
  readonly kind: string;
  readonly name: string;
  readonly subresource: string;
}

/** Throws to make a call fail; what it returns does not matter. */
export type Intercept = (call: ClientCall) => void | Promise<void>;

/** A client that asks before each call. Applies that would change nothing are asked about as well. */
export function intercepted(client: ControllerClient, intercept: Intercept): ControllerClient {
  const ask = async (
    method: ClientCall["method"],
    type: TypeRef,
    key: Partial<ObjectKey>,
    options?: { readonly subresource?: string | undefined },
  ): Promise<void> =>
    intercept({ method, kind: type.kind, name: key.name ?? "", subresource: options?.subresource ?? "" });
  const named = ({ metadata }: KubeObject): Partial<ObjectKey> => ({ name: metadata.name ?? "" });
  return {
    ...client,
    live: {
      ...client.live,
      async get(type, key, options) {
        await ask("live get", type, key);
        return client.live.get(type, key, options);
      },
    },
    async get(type, key, options) {
      await ask("get", type, key);
      return client.get(type, key, options);
    },
    async list(type, options) {
      await ask("list", type, {});
      return client.list(type, options);
    },
    async create(object, options) {
      await ask("create", object, named(object), options);
      return client.create(object, options);
    },
    async update(object, options) {
      await ask("update", object, named(object), options);
      return client.update(object, options);
    },
    async patch(type, patch, options) {
      await ask("patch", type, type, options);
      return client.patch(type, patch, options);
    },
    async applyIfChanged(object, options) {
      await ask("apply", object, named(object), options);
      return client.applyIfChanged(object, options);
    },
    async delete(type, options) {
      await ask("delete", type, type);
      return client.delete(type, options);
    },
  };
}

/** A client whose lists and reads of a kind are never answered; an abort ends them. `onAsked` is called for each. */
export function silentAbout(kind: string, client: ControllerClient, onAsked: () => void): ControllerClient {
  const never = (signal: AbortSignal | undefined): Promise<never> => {
    const { promise, reject } = Promise.withResolvers<never>();
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    onAsked();
    return promise;
  };
  return {
    ...client,
    get: (type, key, options) => (type.kind === kind ? never(options?.signal) : client.get(type, key, options)),
    list: (type, options) => (type.kind === kind ? never(options?.signal) : client.list(type, options)),
  };
}
