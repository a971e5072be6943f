// SPDX-License-Identifier: Apache-2.0
import { isUtf8 } from "node:buffer";
import type { Credentials, RunFunctionRequest } from "@purlin/function-protocol";
import { FunctionError } from "../errors/function-error.ts";

/** Credentials made of named bytes, as in a Secret. */
export interface DataCredentials {
  readonly type: "data";
  readonly data: Map<string, Uint8Array>;
  /** The value of a key as text, undefined when there is no such key. Throws when the bytes are not UTF-8. */
  text(key: string): string | undefined;
}

/** The credentials of a name. Throws CREDENTIALS_NOT_FOUND, or UNSUPPORTED_CREDENTIALS when they are of a newer kind. */
export function getCredentials(req: RunFunctionRequest, name: string): DataCredentials {
  const credentials = lookupCredentials(req, name);
  if (credentials === undefined) {
    const remedy = "add them to the function's step in the Composition";
    throw new FunctionError("CREDENTIALS_NOT_FOUND", `no credentials named ${JSON.stringify(name)}: ${remedy}`);
  }
  return credentials;
}

/** As {@link getCredentials}, but undefined when there are none of that name. */
export function lookupCredentials(req: RunFunctionRequest, name: string): DataCredentials | undefined {
  const message = req.credentials.get(name);
  return message === undefined ? undefined : toData(message, name);
}

function toData({ source }: Credentials, name: string): DataCredentials {
  if (source?.case !== "credentialData") {
    const text = `credentials ${JSON.stringify(name)} come from a source that this SDK does not support; update the SDK`;
    throw new FunctionError("UNSUPPORTED_CREDENTIALS", text);
  }
  const data = new Map(source.value.data);
  return {
    type: "data",
    data,
    text: (key) => textOf(data.get(key), `${JSON.stringify(key)} of credentials ${JSON.stringify(name)}`),
  };
}

function textOf(bytes: Uint8Array | undefined, what: string): string | undefined {
  if (bytes === undefined) return undefined;
  if (!isUtf8(bytes)) throw new FunctionError("INVALID_CREDENTIALS", `${what} is not UTF-8 text; read it from data`);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}
