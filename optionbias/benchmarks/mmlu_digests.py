"""SHA-256 of the files of MMLU's 57 subjects: subject -> (test file, development file)."""

DIGESTS: dict[str, tuple[str, str]] = {
    "abstract_algebra": (
        "4be89c0fb1d2419722e88880f6da3da95750367185ecd36f6492a6f74785cf64",
        "bd8c73f3c75bea9db82d281d9da6949cea687b987dba24a142c638e758046624",
    ),
    "anatomy": (
        "966dfd5c4579885ebdb8c05d6754ae5834f672632586d8595be3c0f9360e6f4e",
        "0985685cf5ab13ccc1629f03a1308a9add8767582ffeb195b68b18c3415c9993",
    ),
    "astronomy": (
        "87c9c3cb5a55395c70dd9ed521dd7d2629fd4ff236c5ab647102e007f52a9341",
        "bb03eca519a3fbc04017dc4783635763ac928f0811ce6243dbcbf0d526dbe1e3",
    ),
    "business_ethics": (
        "cd3fc3a85a34cb17e6c5b2fb68ea61e7800b31120d92934019f1e17f4832fbd4",
        "7cd487e4ba7d9fe423bcc259ad852e963dc370629b8d61881b61ed0ae84c0b46",
    ),
    "clinical_knowledge": (
        "06a1ea973000d5ef5d2664c4ac1c68d0423f1cab6b3b682be7942633740811f1",
        "13c88c266cf2a8aa20a062e9b901ee372431e75669fa3c80865613fa2b7f61af",
    ),
    "college_biology": (
        "e1204cb9d19887ea266145f038b5d4cc1fbc33d7efce186259c4ecca1cbe3119",
        "31f4ae0707ba3f742e0d5546ff970949be8a05e217921fe87b1814d6a0ab8184",
    ),
    "college_chemistry": (
        "4d61d7887f845b887c52ac928b6dffdcf2468d79f3d0fbb4d1731092a51d2552",
        "9ba27ba571b8ad40d35a2a88a60acf434ca5f37962c2eba8f9d0aa89edb4c1c7",
    ),
    "college_computer_science": (
        "d53a1d0d1c4362dacf92a4ff1d6a755beb5a87f24a7301c3c4391fcacc6530b4",
        "fc1a43187cd68390d663e0a1849688b13a4cd75ab17616558f4e584a4a8ae2bd",
    ),
    "college_mathematics": (
        "8b5bef14d4209c7918eaf947e4f12a5ae9470567722d8ba9761302d733e8ac71",
        "27731ee1402e720ee01ad6fa6a969a0d0978a0e9b4c385d328a61869a43f321f",
    ),
    "college_medicine": (
        "9c533cfff89edaa317b2e79bbabcdd5e2e522e019679cb4a6475e5f2a1861b1e",
        "63928a944fda769d7e52a3a4549d4f37f094896e65e7db35029261e1ae79909b",
    ),
    "college_physics": (
        "079c3696eda22c13b0472de245c7bb4918315b59481964109a4f65d2a35b4243",
        "6e043d6c566091c5ad1d8bc1d002900e1aa0bff114f98d5e3f2e4f645efce100",
    ),
    "computer_security": (
        "8e40f809858db9dd8585036b53984e570b6101f72be2214b85e979c7fafa307f",
        "09e276300dbd2d07906dbe4ff82aabf45b9765f933eb7d0f35ea3ea97dee8020",
    ),
    "conceptual_physics": (
        "7b39a241bb20424fd2a4e0e37ce05d94865ffc44191d8be4063be0e973312256",
        "5e65be1f6fdd82f4887e3747af790a747191b1b732dd2bea76306388d5ee3719",
    ),
    "econometrics": (
        "10eb6b2d3a519a463872ef75902991b51ebf45865b29888e86d40228ace24029",
        "7a01a925199c246decd0f1fc7a1b8dc28136b19d793e5b1e0d97142c118a2940",
    ),
    "electrical_engineering": (
        "8b0d747a97cb2cbbd8926c8deb2cda6073da6d5d3cc099693aa7761be938f5e4",
        "5aad11b1d1c8dc1a431c3e79a047cba56d691a60403ddffaf5fbd45e9c82bc0d",
    ),
    "elementary_mathematics": (
        "65a46a0e1927ea37aabd031ddcb6d81eef70a7eee1e9e0af94ec8e3fa21d728b",
        "9aca9cd215b7c170020fd5f7db1c9c3d5cbf6df9ee7b970a4810649a87245011",
    ),
    "formal_logic": (
        "bc2dc7373a664ae72e166dcbe3f7aaf1bb65b99f106f1831f335c53467f35248",
        "e4b579358ed4878f6c91bfea0ccc51efdd15a28401f86da9ee8f6c0af37cf36d",
    ),
    "global_facts": (
        "a81058ee8e2385edaf42b8847ec9db01221fa4b16d262db415f3370884745ff9",
        "685577fc3f0bf09a3f5c741ef062d6328aec843069862b83b64eb3638466505f",
    ),
    "high_school_biology": (
        "cfaba2b58b9714d2a6983a90bce17f14cc44cfc8195b20f8f65fef70d21331b9",
        "6a200085c150794846d4bab43bb0e22ceec9f99576dfc25f5c5d8faa9595ae13",
    ),
    "high_school_chemistry": (
        "0e3d94da331d1eb3cafecd64a6f0f64e6fd2410b0a76676b2c0728dc5c1374f5",
        "1ba44aeea98ca22342b6525a3a9ebb62003b2a8289fa42d7c844e2139557ec5b",
    ),
    "high_school_computer_science": (
        "0fb27028617efae6572e6cb840929b95e913c6dc40923cebf1f4e630bf61960d",
        "2987495fdd50f5724676405887ae7a12d2b176cde2127a664b4d4ac117ed0649",
    ),
    "high_school_european_history": (
        "09983655452c3c40ba466050ec82252f02a235e5946734f4d73b73688fc9509b",
        "a3677065cf51abc32901cdcf88ed64121f5595e3a5a67f86ae2570f866fe87c5",
    ),
    "high_school_geography": (
        "c6acdaa9d94c88cdefb9dd569e376733d9ba670c07db12cdff36ccdc18c2ab0c",
        "e43fc27b9fa8b808773a2871007b39e012a1cc1ec902f85d85cc9c27cc12883d",
    ),
    "high_school_government_and_politics": (
        "fbd7a89eb2c7806097e18b40950e44e0580e6f97cd151f01a216bb575c2d7903",
        "daf013a3eae04b5904e6a706cf0574df2c881e00d46a979cb34c6e2968ad1c90",
    ),
    "high_school_macroeconomics": (
        "354b12cc74d2806c44d1fea42efba04ec12f10233e5169466080a1d1a6f8bba5",
        "23ed995071c47e627c4e6adbce63a9144920441abb7e69f8b4dfac5fdc4e402d",
    ),
    "high_school_mathematics": (
        "fe8f7a154834bba30947401ba37ea6c7afdcfba82ddc341c79b5d3016991d290",
        "d7401d5cbad5ae697bfa480e35d85de8ebf1232589a3c59b010782ee49cbe18c",
    ),
    "high_school_microeconomics": (
        "a250cc4976654e479cecdb7b66046ce2412df3e5e1b9c3d145ed344eae9a2256",
        "a409b422561f1fb02e6d1bc044657cfff7779b13146edfd937d2573423c2c49b",
    ),
    "high_school_physics": (
        "573e0f8d8309e4669f53a4b13248a908507b6d5d4c97c977f7bb9814658fee54",
        "5f008c3a44e7b14d86f6c1cbde28892fd0d97ae424e8af9901d75c4ee03972cc",
    ),
    "high_school_psychology": (
        "88c33b6b0ade567d07b8b5b074effdb52f31d773541fd71e86cb0d85a8daf7bf",
        "b39b304a436fa6239a4bb8c1dc4ca3693edec2876926851f3d512d1da9e280ab",
    ),
    "high_school_statistics": (
        "d62843d2fd084d6af1c8a0a6491d0aa642c34a7a68476605b9b3db5841e63d3f",
        "9441f8da50bfb93158d9b2645909cf1bc5837e8078c0eab923cf0fe761f7754e",
    ),
    "high_school_us_history": (
        "0338dea3b11881be53c2208ae8dbb571c792c0dca6f0b36a352147c0be81625e",
        "028b3c81c7be1138ad50b4afa1835773788e4557426a40abfaf132b11edab541",
    ),
    "high_school_world_history": (
        "7787343ae18e4e1ef833c8630c0c914c62f42c2f35d8b90f4bec2eecccfc161e",
        "b6e87a14718b0415241dfe10dd86605de5b6e5995fa57580e9e2d7c56fe147a1",
    ),
    "human_aging": (
        "01299d7e0ae4a8d082daeecc140445ce7393b464040bd810b0a60a370ae5502e",
        "d2439fb3c2292e7dca8244cd98dd7ca746f8424347f171345f6b396f568b0870",
    ),
    "human_sexuality": (
        "43ca779587725f126d07733b33ba339ce27cca6f85056872eccf4b0377e28a90",
        "0da7f8f7aeb6d5a08f0413489aa5d5b84ff8ac971952ea66242762f779cb6794",
    ),
    "international_law": (
        "51b3a6d74cc84651b2355d2823c30d993015ddfe8ef39725da4e0442f29489fc",
        "6f7f1c0191c0bcfe195d0ed39942a605012967a04d855c6482dc7e7a9f95e4d8",
    ),
    "jurisprudence": (
        "bf7a770aebfbdb181abc2c26ffd7a01ab31f93c7e2dfe6924c57c7bca4a0dff6",
        "27533d974102031088bc5c47fc008538ab3d08ca75e127fb64ff04cdd1562da2",
    ),
    "logical_fallacies": (
        "3fe8b48c74832525556455d49960cc0c3cff37496783348043ff69a1863c2244",
        "4de026c2d116c381dcc1b65e91a28ba3d124398f920b0f3904ec5b641deb28f4",
    ),
    "machine_learning": (
        "05984b90f887a7da12b3dd8e41e6c34fa856b2c939ea3124975d90910ceb2af0",
        "e4b1b09985dbdc499d51a2a2e83d93ae05bfe72ea7407c18e3aa3d2ab9ce7517",
    ),
    "management": (
        "4a535a11bb480a09a302e86d157ae2d33e054cfa00e4265fe300a9408b87ec6b",
        "f75224958ab245d86c335d6886f8689247a9f83691ad63bb7ef3196641be9e52",
    ),
    "marketing": (
        "ecf0ae0ae906194d033ca7d7746eaf201232eccb78ee24147e737473f751233d",
        "15b3cf450ebc11e122886a5bad41e78260228259fa184eaa4ba566bdf37f0315",
    ),
    "medical_genetics": (
        "cc30c698e94f12c00e610a39c62d1a1d9587fa53c005359317346081f722c5e6",
        "70cd9ff940bef360693eeb4e05b5b8e53ad75a81d6b74a784222d4cae6dcb896",
    ),
    "miscellaneous": (
        "061b283bb264072321d848b3b7f409a932a11ffa023fc94898dd31d2a4c80c7e",
        "72f74676c37fe477720d8b55e84517bd21daf1fe24f99dd33f1b0a636d31782e",
    ),
    "moral_disputes": (
        "673f5e9054f55fc5e165a3ed01e1b13eb1ee5a3405055818b50532e05de9bfdd",
        "c80d35650189d23777fff1a4a53ff4387128c2536cbbd417d7e9103eeeb0d054",
    ),
    "moral_scenarios": (
        "128d7bd823d793f8b7faf28f98f4b3c737b3e84d4b42c06c13458d36075a423a",
        "dbe2196287f89a6c4be4f31a1897bf0d0f8612a5ab22451a856496df2e0c5100",
    ),
    "nutrition": (
        "309432be237ac2b659acd10fdd4347d32cdc60aa9daeafbac78486a8744fa0b6",
        "84444f3a5c5bf3ccbe87f361b8dca56b9e0c5594fda2c4b558c66c37f47f5b24",
    ),
    "philosophy": (
        "a0f0c6fc9e4f08c04ff3a339996c4ed688a9fbe75d205fff4b9d3549fb49fa1e",
        "587be220837bbe089702aa27cda03fbf72a7b959a9a4425e70d598026614cf11",
    ),
    "prehistory": (
        "8d44938332ea3d199cfa51a18ef69af972aa33ca4af7b5f5bc62e768a31f949a",
        "f62e146bc64a3335bafde9af63b43e4a863246da743cd49f6daf5d5e9614ff81",
    ),
    "professional_accounting": (
        "27071efa2f8fd8502d01e80b8d7c69439586019f59e416ce039968417ef41355",
        "efc070ed71676829c67497542e3571f50a868036a17f93d00a56a4f85767ae0d",
    ),
    "professional_law": (
        "eeb81cac576a5f537485b6befd25837b55f64b57e9b2a7e409210d7c8d608820",
        "15d8589900ccf4725e1bad17837d48cc18c8bf033cd9b5d6bacf28a2a8f1064f",
    ),
    "professional_medicine": (
        "a034bf0dda10cb0848bdd3097eb1547d61ca2dac9e9b871563691621c38d51e9",
        "486456d578890d4700dd8044ac236c8ac2ee3389e35fc81ac37529f4f4487785",
    ),
    "professional_psychology": (
        "99785591dfe18717736c0c296c9d9840c832f98749060975f7e2d976ad204bf7",
        "222e690db42dfb217a7c56a6ac693b73cf0168e344d75f28618c62ad9d2c0261",
    ),
    "public_relations": (
        "3712f955d0c38b073b188a175a8d9a6ce64601f0ae9c98d8cfc37461c4cb5933",
        "8895f665f4c696ae76d34210546d0ab4b21b79d2fd8534cd2e8002e8ed0969dc",
    ),
    "security_studies": (
        "ab7634702670ee0d5e98b852f5bcfad2821ff9a2e909d223de05422c948f6638",
        "c726278f37ce15489b22190771041bd459065016e3891148ef147ae7cf1a0c35",
    ),
    "sociology": (
        "f6c464600032aa2bb53294ad53217fbb650601eee206af947b3ce4c587ff5bed",
        "2e2bb34b4cabdc50e2c43097d1cfe91560224f9e1224adc19a01e922d1c49414",
    ),
    "us_foreign_policy": (
        "2821ee009a2b1b7d4adc5a212a0bad7fe05d377455de0fe0841beab8f00142e1",
        "3a9677a89fd67c3a891671a2a6a14ff69ab37bdd54fb687c2f8334c8a3fa1543",
    ),
    "virology": (
        "4355b9d79142da0e44a767a495a277733fd89ad67236cbbe3f42ff3a6d46b483",
        "30af41f604f2ee7f5585361df6a7022b4eaf126eeb91494f225841908f06034a",
    ),
    "world_religions": (
        "3be96b2465419289c4fe0c8a0d003003facd243c8982c6daafc6ac90a40bd507",
        "d4f7550bb8a32a599dc2ffa0a53e85e81096f441bcca1be3a412d690ade8eaa0",
    ),
}
