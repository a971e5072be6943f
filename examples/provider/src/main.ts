// SPDX-License-Identifier: Apache-2.0
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProvider } from "@purlin/provider-sdk";
import { fileResource } from "./file.ts";

await runProvider({ name: "provider-files", resources: [fileResource(join(tmpdir(), "files"))] });
