// SPDX-License-Identifier: Apache-2.0
import type { ControllerClient } from "@purlin/kube-controller";
import { StatusError } from "@purlin/kube-objects/errors";
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

class Crash extends Error {}

/** The client of a control plane that dies before, or right after, its write number `at`. */
export function mortalClient(
  client: ControllerClient,
  at: number,
  when: "before" | "after",
): { readonly client: ControllerClient; readonly writes: () => number } {
  let writes = 0;
  let dead = false;
  const alive = (): void => {
    if (dead) throw new Crash("dead");
  };
  const live = intercepted(client, alive);
  const strike = async <T>(write: () => Promise<T>): Promise<T> => {
    alive();
    if (writes++ === at && when === "before") {
      dead = true;
      throw new Crash("dead");
    }
    const result = await write();
    if (writes - 1 === at && when === "after") {
      dead = true;
      throw new Crash("dead");
    }
    return result;
  };
  return {
    writes: () => writes,
    client: {
      ...live,
      create: (...args: Parameters<typeof live.create>) => strike(() => live.create(...args)),
      update: (...args: Parameters<typeof live.update>) => strike(() => live.update(...args)),
      patch: (...args: Parameters<typeof live.patch>) => strike(() => live.patch(...args)),
      delete: (...args: Parameters<typeof live.delete>) => strike(() => live.delete(...args)),
      apply: (...args: Parameters<typeof live.apply>) => strike(() => live.apply(...args)),
      applyIfChanged: (...args: Parameters<typeof live.applyIfChanged>) => strike(() => live.applyIfChanged(...args)),
    },
  };
}

/** The reason of an API server's refusal. */
export function refusal(message = "no"): StatusError {
  return new StatusError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    reason: "Forbidden",
    code: 403,
    message,
  });
}
