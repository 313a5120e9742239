import { MemoryStore } from "../../helpers/memory-store.ts";
import { storeConformance } from "../../integration/store/conformance.ts";

storeConformance("memory", async () => new MemoryStore());
