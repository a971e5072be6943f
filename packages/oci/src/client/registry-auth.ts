// SPDX-License-Identifier: Apache-2.0

import { createErrorBrand } from "@purlin/base";
import { OciError } from "../content/oci-error.ts";
import { type RegistryRequest, type RegistryResponse, type RegistrySend, readBody } from "./registry-http.ts";

/** What a request is for, as token servers expect it. */
export interface RegistryScope {
  readonly repository: string;
  readonly actions: "pull" | "pull,push";
}

/** Sends a request with the authentication that the registry requires. */
export type AuthorizedSend = (request: RegistryRequest, scope: RegistryScope) => Promise<RegistryResponse>;

const maxTokenBytes = 1024 * 1024;
/** The lifetime of a token without expires_in. */
const defaultTokenSeconds = 60;

interface Token {
  readonly header: string;
  readonly expires: number;
}

/** Creates a sender that responds to challenges: basic directly, bearer with a token of the named token server. */
export function createAuthorizedSend(
  send: RegistrySend,
  findCredentials: () => RegistryCredentials | undefined | Promise<RegistryCredentials | undefined>,
  now: () => number,
): AuthorizedSend {
  const tokens = new Map<string, Token>();

  return async (request, scope) => {
    const key = `${request.url.origin} ${scope.repository} ${scope.actions}`;
    const known = tokens.get(key);
    const first = await send(known && known.expires > now() ? withToken(request, known.header) : request);
    if (first.status !== 401) return first;
    first.body.destroy();
    const challenges = parseChallenges(first.headers["www-authenticate"] ?? "");
    const credentials = await findCredentials();
    const token = await answer(challenges, { send, request, scope, credentials, now });
    tokens.set(key, token);
    return send(withToken(request, token.header));
  };
}

function withToken(request: RegistryRequest, authorization: string): RegistryRequest {
  return { ...request, headers: { ...request.headers, authorization } };
}

interface Asked {
  readonly send: RegistrySend;
  readonly request: RegistryRequest;
  readonly scope: RegistryScope;
  readonly credentials: RegistryCredentials | undefined;
  readonly now: () => number;
}

async function answer(challenges: readonly AuthChallenge[], asked: Asked): Promise<Token> {
  const bearer = challenges.find(({ scheme }) => scheme === "bearer");
  if (bearer !== undefined) return fetchToken(bearer, asked);
  const { host } = asked.request.url;
  if (!challenges.some(({ scheme }) => scheme === "basic")) {
    throw new OciError("UNAUTHORIZED", `${host} requires an unsupported authentication scheme`);
  }
  if (asked.credentials?.username === undefined) {
    throw new OciError("UNAUTHORIZED", `${host} requires a user name and password; create a pull secret for it`);
  }
  return { header: basic(asked.credentials), expires: Number.POSITIVE_INFINITY };
}

function basic({ username = "", password = "" }: RegistryCredentials): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

async function fetchToken(challenge: AuthChallenge, asked: Asked): Promise<Token> {
  const { realm, service } = challenge.parameters;
  const { scope, request, credentials, send, now } = asked;
  if (realm === undefined || !URL.canParse(realm)) {
    throw new OciError("UNAUTHORIZED", `${request.url.host} sent no valid token server address`);
  }
  // Redirects to plain text are not followed either: what is secret on one way is secret on the other.
  if (request.url.protocol === "https:" && new URL(realm).protocol !== "https:") {
    throw new OciError("UNAUTHORIZED", `${request.url.host} uses the token server ${realm}, which is not HTTPS`);
  }
  const parameters = new URLSearchParams({ scope: `repository:${scope.repository}:${scope.actions}` });
  if (service !== undefined) parameters.set("service", service);
  const response = await send({ ...tokenRequest(new URL(realm), parameters, credentials), signal: request.signal });
  if (response.status !== 200) {
    response.body.destroy();
    throw new OciError(
      "UNAUTHORIZED",
      `the token server ${new URL(realm).host} answers ${response.status} for ${scope.repository}` +
        (credentials === undefined ? "; create a pull secret for the registry" : "; check the pull secret"),
    );
  }
  return tokenOf(await readBody(response.body, maxTokenBytes), new URL(realm).host, now);
}

/** A refresh token is exchanged by POST; a user name and password, or an anonymous client, use GET. */
function tokenRequest(
  realm: URL,
  parameters: URLSearchParams,
  credentials: RegistryCredentials | undefined,
): RegistryRequest {
  if (credentials?.identityToken !== undefined) {
    parameters.set("grant_type", "refresh_token");
    parameters.set("refresh_token", credentials.identityToken);
    parameters.set("client_id", "purlin");
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    return { method: "POST", url: realm, headers, body: Buffer.from(parameters.toString()) };
  }
  const url = new URL(realm);
  for (const [name, value] of parameters) url.searchParams.set(name, value);
  const headers = credentials?.username === undefined ? {} : { authorization: basic(credentials) };
  return { method: "GET", url, headers };
}

function tokenOf(body: Buffer, host: string, now: () => number): Token {
  let answered: { token?: unknown; access_token?: unknown; expires_in?: unknown };
  try {
    answered = JSON.parse(body.toString("utf8")) as typeof answered;
  } catch (cause) {
    throw new OciError("UNAUTHORIZED", `the token server ${host} returned invalid JSON`, { cause });
  }
  const text = answered.token ?? answered.access_token;
  if (typeof text !== "string" || text === "") {
    throw new OciError("UNAUTHORIZED", `the token server ${host} returned no token`);
  }
  const seconds = typeof answered.expires_in === "number" ? answered.expires_in : defaultTokenSeconds;
  // Half the time it has left: a clock that is off must not make a request fail.
  return { header: `Bearer ${text}`, expires: now() + seconds * 500 };
}

/** One authentication scheme that a server offers in `WWW-Authenticate`. */
export interface AuthChallenge {
  /** Lower case. */
  readonly scheme: string;
  readonly parameters: Readonly<Record<string, string>>;
}

const parameter = /([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/y;
const scheme = /([A-Za-z][A-Za-z0-9_-]*)(?=\s|$|,)(?!\s*=)/y;
const separator = /[\s,]*/y;

/** Reads a `WWW-Authenticate` header: any number of schemes, each with its parameters. */
export function parseChallenges(header: string): AuthChallenge[] {
  const challenges: { scheme: string; parameters: Record<string, string> }[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(header);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  while (at < header.length) {
    take(separator);
    const pair = take(parameter);
    if (pair !== null) {
      const [, name = "", quoted, bare = ""] = pair;
      const value = quoted === undefined ? bare : quoted.replaceAll(/\\(.)/g, "$1");
      const current = challenges.at(-1);
      if (current !== undefined) current.parameters[name.toLowerCase()] = value;
      continue;
    }
    const name = take(scheme);
    if (name === null) break;
    challenges.push({ scheme: (name[1] ?? "").toLowerCase(), parameters: {} });
  }
  return challenges;
}

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
