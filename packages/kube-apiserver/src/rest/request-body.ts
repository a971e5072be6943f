// SPDX-License-Identifier: Apache-2.0
import {
  badRequest,
  decodeProtobuf,
  isJsonObject,
  JsonSyntaxError,
  type JsonValue,
  ProtobufError,
  parseJsonStrict,
  unsupportedMediaType,
} from "@purlin/kube-objects";
import type { ApiRequest } from "../request/api-request.ts";
import { readYaml } from "./yaml-body.ts";

/** What a body says. */
export interface DecodedBody {
  readonly value: JsonValue;
  /** What is wrong with it strictly speaking: keys that come twice. */
  readonly strictErrors: readonly string[];
}

export const JSON_TYPE = "application/json";
export const YAML_TYPE = "application/yaml";
export const PROTOBUF_TYPE = "application/vnd.kubernetes.protobuf";

const ACCEPTED: readonly string[] = [JSON_TYPE, YAML_TYPE, PROTOBUF_TYPE];
const decoder = new TextDecoder();

/** What the request says its body is, without parameters; JSON when it says nothing. */
export function contentTypeOf(request: ApiRequest): string {
  const [type = ""] = (request.headers["content-type"] ?? "").split(";", 1);
  return type.trim().toLowerCase() || JSON_TYPE;
}

/**
 * Reads the body of a request; undefined when it has none. Throws 415 for a type that is not understood, 400 for a body that is not
 * what it says. `takesProtobuf` is false where no kind could be meant that has a protobuf form.
 */
export async function readRequestBody(
  request: ApiRequest,
  options: { readonly takesProtobuf: boolean },
): Promise<DecodedBody | undefined> {
  const type = contentTypeOf(request);
  const accepted = options.takesProtobuf ? ACCEPTED : [JSON_TYPE, YAML_TYPE];
  const { body } = request;
  if (body.kind === "none") {
    return undefined;
  }
  if (!accepted.includes(type)) {
    throw unsupportedMediaType(ACCEPTED);
  }
  if (body.kind === "value") {
    return { value: body.value, strictErrors: [] };
  }
  const bytes = await body.read();
  return bytes.length === 0 ? undefined : decodeBytes(bytes, type);
}

/** Bytes of a known type as what they say. */
export function decodeBytes(bytes: Uint8Array, type: string): DecodedBody {
  if (type === PROTOBUF_TYPE) {
    return { value: fromProtobuf(bytes), strictErrors: [] };
  }
  const text = decoder.decode(bytes);
  if (type === YAML_TYPE) {
    const { value, duplicates } = readYaml(text);
    return { value, strictErrors: duplicates };
  }
  const { value, duplicates } = fromJson(text);
  return { value, strictErrors: duplicates.map((path) => `duplicate field ${JSON.stringify(path)}`) };
}

function fromJson(text: string): ReturnType<typeof parseJsonStrict> {
  try {
    return parseJsonStrict(text);
  } catch (error) {
    if (error instanceof JsonSyntaxError) {
      throw badRequest(`couldn't get version/kind; json parse error: ${error.message}`, error);
    }
    throw error;
  }
}

function fromProtobuf(bytes: Uint8Array): JsonValue {
  try {
    const decoded = decodeProtobuf(bytes);
    if (decoded.known) {
      return decoded.object;
    }
    const { apiVersion, kind } = decoded;
    throw badRequest(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`);
  } catch (error) {
    throw error instanceof ProtobufError ? badRequest(error.message, error) : error;
  }
}

/** The object in a body that must have one. */
export function requireObject(
  decoded: DecodedBody | undefined,
): DecodedBody & { readonly value: { readonly [key: string]: JsonValue } } {
  if (decoded === undefined) {
    throw badRequest("couldn't get version/kind; json parse error: unexpected end of JSON input");
  }
  const { value, strictErrors } = decoded;
  if (!isJsonObject(value)) {
    const what = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;
    throw badRequest(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${what} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    );
  }
  return { value, strictErrors };
}
