// SPDX-License-Identifier: Apache-2.0
import { OciError, type OciErrorCode } from "../content/oci-error.ts";
import { type RegistryResponse, readBody } from "./registry-http.ts";

const maxErrorBytes = 64 * 1024;

const meaning: Readonly<Record<number, { readonly code: OciErrorCode; readonly advice: string }>> = {
  401: { code: "unauthorized", advice: "check the pull secret" },
  403: { code: "unauthorized", advice: "check what the pull secret's user may do" },
  404: { code: "not-found", advice: "check registry, repository and tag" },
};

/** The error for an answer that is not what was asked for. */
export async function refusal(response: RegistryResponse, name: string, what: "read" | "write"): Promise<OciError> {
  const said = await reasonOf(response);
  const { code = "refused", advice } = meaning[response.status] ?? {};
  const text = `cannot ${what} ${name}: ${response.url.host} answers ${response.status}${said && ` (${said})`}`;
  return new OciError(code, advice === undefined ? text : `${text}; ${advice}`);
}

/** The first of the errors a registry lists, on one line and without characters that terminals act on. */
async function reasonOf(response: RegistryResponse): Promise<string> {
  try {
    const body = JSON.parse((await readBody(response.body, maxErrorBytes)).toString("utf8")) as {
      errors?: { code?: unknown; message?: unknown }[];
    };
    const [first] = body.errors ?? [];
    const said = [first?.code, first?.message].filter((text) => typeof text === "string" && text !== "");
    return said
      .join(": ")
      .replaceAll(/[\s\p{Cc}]+/gu, " ")
      .slice(0, 300);
  } catch {
    return "";
  }
}
