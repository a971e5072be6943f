// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand } from "@purlin/kube-objects/errors";

/** The credentials that a client sends to a registry. */
export interface RegistryCredentials {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** A refresh token, to be exchanged at the token server. */
  readonly identityToken?: string | undefined;
}

/** Finds the credentials for an image, `registry/repository`. Asked only when the registry wants some. */
export type CredentialsFor = (
  source: string,
) => RegistryCredentials | undefined | Promise<RegistryCredentials | undefined>;

const brand = createErrorBrand<PullSecretError>("purlin.dev/oci/pull-secret-error");

/** A pull secret that cannot be read. */
class PullSecretError extends Error {
  constructor(where: string, problem: string, options?: ErrorOptions) {
    super(`${where}: ${problem}`, options);
    this.name = "PullSecretError";
    brand.mark(this);
  }
}

/** Whether an error is a {@link PullSecretError}. */
export function isPullSecretError(error: unknown): error is PullSecretError {
  return brand.has(error);
}

/**
 * Reads the `.dockerconfigjson` of a pull secret, or a Docker `config.json`. The longest key that is a prefix of the image counts;
 * an entry may be a host, a URL, or a host with a path.
 */
export function credentialsFromDockerConfig(
  text: string,
  where: string,
): (source: string) => RegistryCredentials | undefined {
  const entries = readEntries(text, where);
  return (source) => {
    const matches = entries.filter(({ prefix }) => source === prefix || source.startsWith(`${prefix}/`));
    return matches.toSorted((a, b) => b.prefix.length - a.prefix.length)[0]?.credentials;
  };
}

/** Asks several sources in order. */
export function firstCredentials(sources: readonly CredentialsFor[]): CredentialsFor {
  return async (source) => {
    for (const find of sources) {
      const found = await find(source);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

interface Entry {
  readonly prefix: string;
  readonly credentials: RegistryCredentials;
}

function readEntries(text: string, where: string): Entry[] {
  let config: { auths?: unknown };
  try {
    config = JSON.parse(text) as typeof config;
  } catch (cause) {
    throw new PullSecretError(where, "it is not JSON", { cause });
  }
  const auths = config?.auths ?? {};
  if (typeof auths !== "object") throw new PullSecretError(where, "auths is not an object");
  return Object.entries(auths).map(([key, value]) => ({
    prefix: prefixOf(key),
    credentials: credentialsOf(value, `${where}: auths[${JSON.stringify(key)}]`),
  }));
}

/** `https://index.docker.io/v1/` → `index.docker.io`; versions of the API are not part of a name. */
function prefixOf(key: string): string {
  return key
    .replace(/^https?:\/\//, "")
    .replace(/(?<!\/)\/+$/, "")
    .replace(/\/v[12]$/, "");
}

function credentialsOf(value: unknown, where: string): RegistryCredentials {
  const { auth, username, password, identitytoken } = (value ?? {}) as Record<string, unknown>;
  const identityToken = typeof identitytoken === "string" && identitytoken !== "" ? identitytoken : undefined;
  if (typeof username === "string" && username !== "") {
    return { username, password: typeof password === "string" ? password : "", identityToken };
  }
  if (typeof auth !== "string" || auth === "") return { identityToken };
  const decoded = Buffer.from(auth, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  if (colon < 0) throw new PullSecretError(where, "auth is not base64 of user:password");
  return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1), identityToken };
}
