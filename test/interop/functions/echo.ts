// SPDX-License-Identifier: Apache-2.0
import { main } from "@purlin/function-sdk";

await main((req, ctx) => ctx.to(req));
