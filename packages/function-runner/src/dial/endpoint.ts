// SPDX-License-Identifier: Apache-2.0

/** Where a function listens. */
export type Endpoint =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

const forms = "expected dns:///host:port, host:port or unix:path";

/** Reads an endpoint as gRPC writes it. The port is never guessed. */
export function parseEndpoint(text: string): Endpoint {
  if (text.startsWith("unix:")) return unixEndpoint(text);
  const scheme = /^([a-z][a-z0-9+.-]*):\/\/([^/]*)\/(.*)$/i.exec(text);
  if (scheme === null) return tcpEndpoint(text, text);
  const [, name, authority, address = ""] = scheme;
  if (name !== "dns") throw new Error(`endpoint "${text}" has the unknown scheme "${name}": ${forms}`);
  if (authority !== "") throw new Error(`endpoint "${text}" names a DNS server, which is not supported: ${forms}`);
  return tcpEndpoint(text, address);
}

function unixEndpoint(text: string): Endpoint {
  const path = text.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
  if (path === "" || path.startsWith("//")) throw new Error(`endpoint "${text}" has no path: ${forms}`);
  return { kind: "unix", path };
}

function tcpEndpoint(text: string, address: string): Endpoint {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^[\]:/\s]+)):(\d{1,5})$/i.exec(address);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port < 1 || port > 65_535)
    throw new Error(`endpoint "${text}" has no valid host and port: ${forms}`);
  return { kind: "tcp", host, port };
}

/** The name a server certificate must carry. */
export function serverNameOf(endpoint: Endpoint): string {
  return endpoint.kind === "tcp" ? endpoint.host : "localhost";
}

/** The `:authority` of requests: the endpoint without its scheme. */
export function authorityOf(endpoint: Endpoint): string {
  if (endpoint.kind === "unix") return "localhost";
  return endpoint.host.includes(":") ? `[${endpoint.host}]:${endpoint.port}` : `${endpoint.host}:${endpoint.port}`;
}
