// SPDX-License-Identifier: Apache-2.0
import { type Status, StatusError } from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import { authenticated, serviceAccountUser, systemUser, type User } from "../auth/user.ts";
import type { ResourceType } from "../registry/registry.ts";
import type { CompleteResponse } from "../request/api-request.ts";
import type { Handler } from "./handler.ts";

interface InternalRequest {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
  readonly contentType?: string;
}

/** Lets the server's own controllers do what any client could, and nothing else. */
export class InternalClient {
  readonly #handle: Handler;
  readonly #user: User;
  readonly #signal = new AbortController().signal;

  constructor(handle: Handler, user: User = systemUser) {
    this.#handle = handle;
    this.#user = user;
  }

  /** The same server for one of its controllers, with the rights of the ServiceAccount that the controller has in Kubernetes. */
  asController(account: string): InternalClient {
    return new InternalClient(this.#handle, authenticated(serviceAccountUser("kube-system", account, "")));
  }

  /** The body of a successful answer; a failure throws its Status. */
  async send(method: string, path: string, request: InternalRequest = {}): Promise<JsonValue> {
    return (await this.#succeed(method, path, request)).payload?.value() ?? null;
  }

  /** Deletes an object or a collection; a failure throws its Status. What was deleted is not looked at: it may be large. */
  async delete(path: string, request: InternalRequest = {}): Promise<void> {
    await this.#succeed("DELETE", path, request);
  }

  async #succeed(method: string, path: string, request: InternalRequest): Promise<CompleteResponse> {
    const { body, contentType = "application/json", query = {} } = request;
    const response = await this.#handle({
      method,
      path,
      query: new URLSearchParams(query),
      headers: { "user-agent": "kube-apiserver", "content-type": contentType },
      body: body === undefined ? { kind: "none" } : { kind: "value", value: body },
      user: this.#user,
      signal: this.#signal,
    });
    if (response.kind === "stream") throw new Error(`${method} ${path} answered with a stream`);
    if (response.code < 400) return response;
    const value = response.payload?.value() ?? null;
    const status = value as Status;
    if (status?.kind !== "Status") throw new Error(`${method} ${path} answered ${response.code}: ${String(value)}`);
    throw new StatusError(status);
  }
}

/** The path of a type's objects, or of one of them. */
export function resourcePath(
  { group, version, resource, namespaced }: ResourceType,
  namespace: string,
  name: string = "",
): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = namespaced && namespace !== "" ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${scope}/${resource}${name === "" ? "" : `/${encodeURIComponent(name)}`}`;
}
