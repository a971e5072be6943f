// SPDX-License-Identifier: Apache-2.0
import { type ChildProcess, spawn } from "node:child_process";
import { createHash, createPrivateKey, randomUUID, sign } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createAuthority, type KeyPair } from "@purlin/certificates";

/** How the registry authenticates. The user is `me` with the password `secret`. */
export type RegistryAuth = "none" | "basic" | "token";

// bcrypt of "secret", at the lowest cost there is.
const htpasswd = "me:$2b$04$yL6f8UWVh.kFLNTNHBFqYOZrfXHwxbRV3yLgOBT4t/fd2VR8nv7kC\n";
const issuer = "the suite";
const service = "the registry";

/** Starts Debian's docker-registry on a free port of loopback and returns its address. */
export async function startDockerRegistry(t: TestContext, auth: RegistryAuth): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "purlin-docker-registry-"));
  const config = {
    version: 0.1,
    log: { level: "info" },
    storage: { filesystem: { rootdirectory: join(directory, "data") }, delete: { enabled: true } },
    http: { addr: "127.0.0.1:0", secret: "x" },
    ...(await authConfig(t, auth, directory)),
  };
  const path = join(directory, "config.json");
  await writeFile(path, JSON.stringify(config));
  const child = spawn("docker-registry", ["serve", path], { stdio: ["ignore", "ignore", "pipe"] });
  t.after(() => ended(child).then(() => rm(directory, { recursive: true, force: true })));
  return `127.0.0.1:${await portOf(child)}`;
}

async function ended(child: ChildProcess): Promise<void> {
  // Without a process there is no exit to wait for.
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

async function authConfig(t: TestContext, auth: RegistryAuth, directory: string): Promise<object> {
  if (auth === "none") return {};
  if (auth === "basic") {
    const path = join(directory, "htpasswd");
    await writeFile(path, htpasswd);
    return { auth: { htpasswd: { realm: "here", path } } };
  }
  const signer = createAuthority({ commonName: issuer });
  const rootcertbundle = join(directory, "ca.crt");
  await writeFile(rootcertbundle, signer.certPem);
  const realm = `http://${await startTokenServer(t, signer)}/token`;
  return { auth: { token: { realm, service, issuer, rootcertbundle } } };
}

function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      const port = /listening on 127\.0\.0\.1:(\d+)/.exec(said)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
    child.once("error", () => reject(new Error("docker-registry is missing: apt-get install docker-registry")));
    child.once("exit", (code) => reject(new Error(`docker-registry ended with ${code}: ${said}`)));
  });
}

/** A token server as registries want it: basic authentication in, a signed token for the asked scope out. */
async function startTokenServer(t: TestContext, signer: KeyPair): Promise<string> {
  const expected = `Basic ${Buffer.from("me:secret").toString("base64")}`;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://token");
    if (request.headers.authorization !== expected) return void response.writeHead(401).end();
    const scope = url.searchParams.get("scope") ?? "";
    response.end(JSON.stringify({ token: tokenFor(scope, signer), expires_in: 300 }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function tokenFor(scope: string, { certPem, keyPem }: KeyPair): string {
  const [type, name, actions = ""] = scope.split(":");
  const now = Math.floor(Date.now() / 1000);
  const der = certPem.replaceAll(/-----[^-]+-----|\s/g, "");
  const privateKey = createPrivateKey(keyPem);
  const isRsa = privateKey.asymmetricKeyType === "rsa";
  const header = { typ: "JWT", alg: isRsa ? "RS256" : "ES256", x5c: [der] };
  const claims = {
    iss: issuer,
    sub: "me",
    aud: service,
    exp: now + 300,
    nbf: now - 10,
    iat: now,
    jti: createHash("sha256").update(randomUUID()).digest("hex"),
    access: scope === "" ? [] : [{ type, name, actions: actions.split(",") }],
  };
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const text = `${part(header)}.${part(claims)}`;
  const signature = sign("sha256", Buffer.from(text), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return `${text}.${signature.toString("base64url")}`;
}
