// SPDX-License-Identifier: MIT
#include "base/secret.h"

#include "base/cleanup.h"

#include <criterion/criterion.h>
#include <string.h>

struct masked {
	const char *command, *shown; // SHOWN NULL: as it is
};

static void expect_masked(const struct masked *table, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		cleanup_free char *once = secret_mask(table[i].command);
		const char *shown = table[i].shown ? table[i].shown : table[i].command;
		cr_assert(once != NULL);
		cr_expect_str_eq(once, shown);
		cleanup_free char *twice = secret_mask(once);
		cr_expect_str_eq(twice, shown, "a second time: %s", twice);
	}
}

Test(secret, values_are_masked_by_their_names)
{
	static const struct masked table[] = {
		{ "app --password=hunter2 -v", "app --password=*** -v" },
		{ "app '--password=two words' -v", "app '--password=***' -v" },
		{ "app --password hunter2 -v", "app --password *** -v" },
		{ "app --password 'two words' -v", "app --password '***' -v" },
		{ "app --api-key=$ecret", "app --api-key=***" },
		{ "app --db.password=a&b", "app --db.password=***" },
		{ "env DB_PASSWORD=x HF_TOKEN=y ./app", "env DB_PASSWORD=*** HF_TOKEN=*** ./app" },
		{ "java -Dssl.keyPassword=x -jar a.jar", "java -Dssl.keyPassword=*** -jar a.jar" },
		{ "app --clientSecret x --token y", "app --clientSecret *** --token ***" },
		{ "kubectl create --from-literal=password=x",
		  "kubectl create --from-literal=password=***" },
		{ "app token=abc", "app token=***" },
		{ "openssl rsa -passin pass:x", "openssl rsa -passin ***" },
		{ "curl -H 'Authorization: Bearer a.b.c' https://h/",
		  "curl -H 'Authorization: ***' https://h/" },
		{ "curl '--header=X-Api-Key: abc'", "curl '--header=X-Api-Key: ***'" },
		{ "curl 'https://h/?a=1&token=abc&b=2'", "curl 'https://h/?a=1&token=***&b=2'" },
		{ "git clone https://me:pw@h:80/x.git", "git clone https://me:***@h:80/x.git" },
		{ "curl -d '{\"password\": \"x\", \"a\": 1}'",
		  "curl -d '{\"password\": \"***\", \"a\": 1}'" },
	};

	expect_masked(table, sizeof(table) / sizeof(table[0]));
}

Test(secret, options_of_some_programs_have_no_name_that_tells)
{
	static const struct masked table[] = {
		{ "mysql -u me -phunter2 base", "mysql -u me -p*** base" },
		{ "mysql -p base", NULL },
		{ "docker login -u me -p hunter2 r.io", "docker login -u me -p *** r.io" },
		{ "docker login -phunter2", "docker login -p***" },
		{ "sudo /usr/bin/podman login --username me -p x",
		  "sudo /usr/bin/podman login --username me -p ***" },
		{ "docker run -p 8080:80 web login", NULL },
		{ "docker -p login", NULL },
		{ "oc login -t sha256~abc", "oc login -t ***" },
		{ "sqlcmd -U sa -P hunter2", "sqlcmd -U sa -P ***" },
		{ "sh -c 'docker login -p x && docker run -p 80:80 y'",
		  "sh -c 'docker login -p *** && docker run -p 80:80 y'" },
		{ "sudo /usr/bin/mysqldump -px all", "sudo /usr/bin/mysqldump -p*** all" },
		{ "sshpass -p hunter2 ssh -p 22 h", "sshpass -p *** ssh -p 22 h" },
		{ "curl -u me:pw h", "curl -u me:*** h" },
		{ "curl --user=me:pw h", "curl --user=me:*** h" },
		{ "curl -u me h", NULL },
		{ "7z a -pX out.7z in", "7z a -p*** out.7z in" },
		{ "ssh -p 22 h", NULL },
		{ "mkdir -p a/b", NULL },
	};

	expect_masked(table, sizeof(table) / sizeof(table[0]));
}

Test(secret, scripts_are_looked_through)
{
	static const struct masked table[] = {
		{ "sh -c 'PASSWORD=x ./app; mysql -py z'",
		  "sh -c 'PASSWORD=*** ./app; mysql -p*** z'" },
		{ "sh -c './app --token \"a b\" -v'", "sh -c './app --token *** -v'" },
		{ "sh -c './app --token \"$TOKEN\" --password=$PW'", NULL },
		{ "sh -c 'it'\\''s token=a b'", "sh -c 'it'\\''s token=*** b'" },
		{ "python3 -c 'login(password=\"x\", n=1)'",
		  "python3 -c 'login(password=\"***\", n=1)'" },
	};

	expect_masked(table, sizeof(table) / sizeof(table[0]));
}

Test(secret, tokens_of_services_are_known_by_their_beginning)
{
	static const struct masked table[] = {
		{ "app ghp_0123456789abcdefABCD", "app ***" },
		{ "app --key AKIA0123456789ABCDEF", "app --key ***" },
		{ "app sk-learn-linear-regression-1", NULL },
		{ "app hf_internaltestingtinymodel", NULL },
	};

	expect_masked(table, sizeof(table) / sizeof(table[0]));
}

Test(secret, what_only_resembles_a_secret_stays)
{
	static const struct masked table[] = {
		{ "train.py --tokenizer bert --max-tokens 5 --eos-token '</s>'", NULL },
		{ "clang -Rpass=vectorize -ftrapv a.c", NULL },
		{ "app --password", NULL },
		{ "app --password= --token -v", NULL },
		{ "app --token-file t --password-stdin", NULL },
		{ "tool --trace ns::token::next compass=1", NULL },
		{ "./pack --level 9 'my input.tar' output.gz", NULL },
		{ "passwd root", NULL },
		{ "", NULL },
		{ "app 'never closed", NULL },
	};

	expect_masked(table, sizeof(table) / sizeof(table[0]));
}
