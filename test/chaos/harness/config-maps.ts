// SPDX-License-Identifier: Apache-2.0
import { send, type Target } from "../../conformance/harness/wire.ts";

export const configMaps = "/api/v1/namespaces/default/configmaps";

/** What of an object is looked at here. */
export interface SeenObject {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly data?: Readonly<Record<string, string>>;
}

/** An answer that may be an object, a list or a Status. */
export interface Answer {
  readonly code: number;
  readonly body: SeenObject & {
    readonly items?: readonly SeenObject[];
    readonly kind?: string;
    readonly reason?: string;
    readonly message?: string;
  };
}

/** Sends a request with a JSON body. */
export async function ask(target: Target, method: string, path: string, body?: object): Promise<Answer> {
  const headers = { "content-type": body !== undefined && method === "PATCH" ? mergePatch : "application/json" };
  const answer = await send(target, { method, path, headers, body: body && JSON.stringify(body) });
  return { code: answer.code, body: answer.body as Answer["body"] };
}

const mergePatch = "application/merge-patch+json";

export const configMap = (name: string, text: string): object => ({ metadata: { name }, data: { text } });

/** Every ConfigMap there is: version and text by name. */
export async function listed(
  target: Target,
): Promise<Map<string, { readonly version: bigint; readonly text: string }>> {
  const { code, body } = await ask(target, "GET", configMaps);
  if (code !== 200) throw new Error(`the list was answered with ${code}: ${body.message}`);
  return new Map(
    (body.items ?? []).map(({ metadata, data }) => [
      metadata.name,
      { version: BigInt(metadata.resourceVersion), text: data?.["text"] ?? "" },
    ]),
  );
}
