// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { test } from "node:test";
import { type HttpHandler, serveHttp } from "../../test/http-script.ts";
import { isOciError } from "../content/oci-error.ts";
import { createAuthorizedSend, type RegistryCredentials, type RegistryScope } from "./registry-auth.ts";
import { createRegistryHttp, type RegistrySend } from "./registry-http.ts";

const scope: RegistryScope = { repository: "acme/f", actions: "pull" };
const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;

/** Sends a request to a server that challenges clients without authorization. */
async function status(host: string, credentials?: RegistryCredentials, now = () => 0): Promise<number> {
  const send = createAuthorizedSend(createRegistryHttp(), () => credentials, now);
  const response = await send({ method: "GET", url: new URL(`http://${host}/v2/acme/f/manifests/v1`) }, scope);
  response.body.resume();
  return response.status;
}

const challenging =
  (challenge: string): HttpHandler =>
  (request, response) => {
    const isKnown = request.headers.authorization !== undefined;
    response.writeHead(isKnown ? 200 : 401, isKnown ? {} : { "www-authenticate": challenge }).end();
  };

const refused: { why: string; challenge: string; credentials?: RegistryCredentials; says: RegExp }[] = [
  {
    why: "no credentials",
    challenge: 'Basic realm="x"',
    says: /requires a user name and password; create a pull secret for it/,
  },
  { why: "an unknown scheme", challenge: "Negotiate", says: /requires an unsupported authentication scheme/ },
  { why: "no challenge at all", challenge: "", says: /requires an unsupported authentication scheme/ },
  {
    why: "a token server without an address",
    challenge: "Bearer service=x",
    says: /sent no valid token server address/,
  },
  { why: "an invalid address", challenge: 'Bearer realm="not a url"', says: /sent no valid token server address/ },
];
for (const { why, challenge, credentials, says } of refused) {
  test(`a registry that cannot be satisfied: ${why}`, async (t) => {
    const { host } = await serveHttp(t, challenging(challenge));
    await assert.rejects(
      status(host, credentials),
      (error: Error) => isOciError(error, "UNAUTHORIZED") && says.test(error.message),
    );
  });
}

const answers: { why: string; body: string; code?: number; says: RegExp }[] = [
  { why: "403", code: 403, body: "", says: /the token server .* answers 403 for acme\/f; create a pull secret/ },
  { why: "a response that is not JSON", body: "<html>", says: /returned invalid JSON/ },
  { why: "a response without a token", body: "{}", says: /returned no token/ },
  { why: "a token that is not a string", body: '{"token": 7}', says: /returned no token/ },
  { why: "a response that is too large", body: `"${"x".repeat(2_000_000)}"`, says: /larger than/ },
];
for (const { why, body, code = 200, says } of answers) {
  test(`an invalid token response: ${why}`, async (t) => {
    const tokens = await serveHttp(t, (_, response) => void response.writeHead(code).end(body));
    const { host } = await serveHttp(t, challenging(`Bearer realm="http://${tokens.host}/t"`));
    await assert.rejects(status(host), says);
  });
}

test("of several challenges the token is preferred; without credentials the token request is anonymous", async (t) => {
  const tokens = await serveHttp(t, (_, response) => void response.end('{"access_token": "x"}'));
  const { host, asked } = await serveHttp(t, challenging(`Basic realm="a", Bearer realm="http://${tokens.host}/t"`));
  assert.equal(await status(host), 200);
  assert.deepEqual(tokens.asked, ["GET /t?scope=repository%3Aacme%2Ff%3Apull anonymous"]);
  assert.equal(asked.at(-1), "GET /v2/acme/f/manifests/v1 Bearer x");
});

test("a realm that has parameters of its own keeps them", async (t) => {
  const tokens = await serveHttp(t, (_, response) => void response.end('{"token": "x"}'));
  const { host } = await serveHttp(t, challenging(`Bearer realm="http://${tokens.host}/t?tenant=7",service="s"`));
  await status(host, { username: "me", password: "pw" });
  assert.deepEqual(tokens.asked, [`GET /t?tenant=7&scope=repository%3Aacme%2Ff%3Apull&service=s ${basic("me:pw")}`]);
});

test("credentials are looked up only when they are asked for, and a known token is used until half of its time is over", async (t) => {
  let issued = 0;
  const tokens = await serveHttp(
    t,
    (_, response) => void response.end(JSON.stringify({ token: `t${++issued}`, expires_in: 100 })),
  );
  const { host, asked } = await serveHttp(t, challenging(`Bearer realm="http://${tokens.host}/t"`));
  let [now, lookups] = [0, 0];
  const find = async (): Promise<RegistryCredentials | undefined> => {
    lookups++;
    return undefined;
  };
  const send = createAuthorizedSend(createRegistryHttp(), find, () => now);
  const get = async (): Promise<void> => {
    (await send({ method: "GET", url: new URL(`http://${host}/x`) }, scope)).body.resume();
  };
  await get();
  await get();
  now = 49_999;
  await get();
  assert.deepEqual([issued, lookups], [1, 1]);
  now = 50_000;
  await get();
  assert.deepEqual([issued, lookups], [2, 2]);
  assert.deepEqual(
    asked.map((line) => line.split(" ").at(-1)),
    ["anonymous", "t1", "t1", "t1", "anonymous", "t2"],
  );
});

test("tokens are kept by scope: a pull token is not sent with a push", async (t) => {
  const tokens = await serveHttp(t, (_, response) => void response.end('{"token": "x"}'));
  const { host } = await serveHttp(t, challenging(`Bearer realm="http://${tokens.host}/t"`));
  const send = createAuthorizedSend(
    createRegistryHttp(),
    () => undefined,
    () => 0,
  );
  const url = new URL(`http://${host}/x`);
  for (const one of [scope, { ...scope, actions: "pull,push" as const }, { ...scope, repository: "other" }]) {
    (await send({ method: "GET", url }, one)).body.resume();
  }
  assert.deepEqual(
    tokens.asked.map((line) => decodeURIComponent(line.split(" ")[1] ?? "")),
    ["/t?scope=repository:acme/f:pull", "/t?scope=repository:acme/f:pull,push", "/t?scope=repository:other:pull"],
  );
});

test("a registry with TLS cannot have passwords sent without it", async () => {
  const asked: string[] = [];
  const challenge: RegistrySend = async ({ url }) => {
    asked.push(url.host);
    const headers = { "www-authenticate": 'Bearer realm="http://tokens.example.org/token"' };
    return { status: 401, headers, body: new IncomingMessage(new Socket()), url };
  };
  const send = createAuthorizedSend(challenge, () => ({ username: "u", password: "p" }), Date.now);
  const url = new URL("https://registry.example.org/v2/acme/f/manifests/v1");
  await assert.rejects(
    send({ method: "GET", url }, scope),
    (error: Error) =>
      isOciError(error, "UNAUTHORIZED") && /tokens\.example\.org\/token, which is not HTTPS/.test(error.message),
  );
  assert.deepEqual(asked, ["registry.example.org"], "the token server gets no request");
});
