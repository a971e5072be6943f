// SPDX-License-Identifier: Apache-2.0
// A kubeconfig is a file that a user or another program wrote: the types of its fields are checked before they are used.
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "@purlin/kube-objects/json";
import type { Kubeconfig } from "./kubeconfig.ts";

type FieldType = "string" | "boolean" | "list of strings" | "exec" | "anything";

const clusterFields: Readonly<Record<string, FieldType>> = {
  server: "string",
  "certificate-authority": "string",
  "certificate-authority-data": "string",
  "insecure-skip-tls-verify": "boolean",
  "tls-server-name": "string",
};
const userFields: Readonly<Record<string, FieldType>> = {
  "client-certificate": "string",
  "client-certificate-data": "string",
  "client-key": "string",
  "client-key-data": "string",
  token: "string",
  tokenFile: "string",
  username: "string",
  password: "string",
  as: "string",
  "as-groups": "list of strings",
  exec: "exec",
  "auth-provider": "anything",
};
const contextFields: Readonly<Record<string, FieldType>> = { cluster: "string", user: "string", namespace: "string" };
const execFields: Readonly<Record<string, FieldType>> = {
  apiVersion: "string",
  command: "string",
  args: "list of strings",
  installHint: "string",
  interactiveMode: "string",
  provideClusterInfo: "boolean",
};

/**
 * The fields of a kubeconfig that are used, each of its type; fields that are null are left out. Throws an error that names the file
 * and the field.
 */
export function checkKubeconfig(value: unknown, file: string): Kubeconfig {
  const problem = (path: string, text: string): Error => new Error(`kubeconfig ${file}: ${path} ${text}`);
  const reader = new Reader(problem);
  const config = reader.object((value ?? {}) as JsonValue, "the document");
  return {
    ...reader.fields(config, "", { "current-context": "string" }),
    clusters: reader.entries(config, "clusters", { member: "cluster", fields: clusterFields }),
    users: reader.entries(config, "users", { member: "user", fields: userFields }),
    contexts: reader.entries(config, "contexts", { member: "context", fields: contextFields }),
  } as unknown as Kubeconfig;
}

interface EntryShape {
  readonly member: string;
  readonly fields: Readonly<Record<string, FieldType>>;
}

class Reader {
  readonly #problem: (path: string, text: string) => Error;

  constructor(problem: (path: string, text: string) => Error) {
    this.#problem = problem;
  }

  object(value: JsonValue, path: string): JsonObject {
    if (!isJsonObject(value)) throw this.#problem(path, "must be a map");
    return value;
  }

  /** The entries of a list: each has a name, and a map of the fields. */
  entries(config: JsonObject, list: string, { member, fields }: EntryShape): JsonObject[] {
    return this.#list(ownValue(config, list) ?? [], list).map((item, index) => {
      const path = `${list}[${index}]`;
      const entry = this.object(item, path);
      const name = ownValue(entry, "name");
      if (typeof name !== "string") throw this.#problem(`${path}.name`, "must be a string");
      const inner = this.object(ownValue(entry, member) ?? {}, `${path}.${member}`);
      return { name, [member]: this.fields(inner, `${path}.${member}.`, fields) };
    });
  }

  /** The fields of a map without those that are null; those with a known type must be of it. */
  fields(object: JsonObject, prefix: string, types: Readonly<Record<string, FieldType>>): JsonObject {
    const present = Object.entries(object).filter(([, value]) => value !== null);
    return Object.fromEntries(
      present.map(([name, value]) => {
        const type = Object.hasOwn(types, name) ? types[name] : undefined;
        return [name, this.#value(value, type ?? "anything", `${prefix}${name}`)];
      }),
    );
  }

  #value(value: JsonValue, type: FieldType, path: string): JsonValue {
    if (type === "anything") return value;
    if (type === "exec") return this.#exec(this.object(value, path), path);
    if (type === "list of strings") return this.#strings(value, path);
    if (typeof value !== type) throw this.#problem(path, `must be a ${type}`);
    return value;
  }

  #exec(exec: JsonObject, path: string): JsonObject {
    const variables = this.#list(ownValue(exec, "env") ?? [], `${path}.env`).map((item, index) =>
      this.fields(this.object(item, `${path}.env[${index}]`), `${path}.env[${index}].`, {
        name: "string",
        value: "string",
      }),
    );
    if (typeof ownValue(exec, "command") !== "string") throw this.#problem(`${path}.command`, "must be a string");
    return { ...this.fields(exec, `${path}.`, execFields), env: variables };
  }

  #strings(value: JsonValue, path: string): JsonValue[] {
    const list = this.#list(value, path);
    if (!list.every((item) => typeof item === "string")) throw this.#problem(path, "must be a list of strings");
    return list;
  }

  #list(value: JsonValue, path: string): JsonValue[] {
    if (!Array.isArray(value)) throw this.#problem(path, "must be a list");
    return value;
  }
}
