// SPDX-License-Identifier: MIT
#include "base/python_scope.h"

#include "tests/support/expect.h"

#include <stdlib.h>
#include <string.h>

static const char text[] = "\xef\xbb\xbf\"\"\"class No:\n"            // 1
			   "    def f(self): pass\n"                  // 2
			   "\"\"\"\n"                                 // 3
			   "import a\n"                               // 4
			   "def plain(x): return x\n"                 // 5
			   "class Pool(\n"                            // 6
			   "        Base):\n"                         // 7
			   "    SIZES = [1,\n"                        // 8
			   "2]\n"                                     // 9
			   "    def map(self): return \"\\\"#\"\n"    // 10
			   "\n"                                       // 11
			   "# no indentation of a comment counts\n"   // 12
			   "    @property\n"                          // 13
			   "    @wraps(lambda: '''\n"                 // 14
			   "def no(): ''')\n"                         // 15
			   "    def size(self):\n"                    // 16
			   "        class Inner:\n"                   // 17
			   "            async  def run(self): pass\n" // 18
			   "        return '\\\n"                     // 19
			   "        '\n"                              // 20
			   "if a:\n"                                  // 21
			   "\tdef tab(): # 'not a string\n"           // 22
			   "\t\tdef deep(): pass\n"                   // 23
			   "else:\n"                                  // 24
			   "\tdef other(): pass\n"                    // 25
			   "def \xc3\xa9t\xc3\xa9(): pass";           // 26

Test(python_scope, a_name_has_what_it_is_in)
{
	static const struct {
		uint32_t line;
		const char *name, *qualified;
	} table[] = {
		{ 5, "plain", "plain" },
		{ 6, "Pool", "Pool" },
		{ 10, "map", "Pool.map" },
		{ 13, "size", "Pool.size" },
		{ 16, "size", "Pool.size" },
		{ 17, "Inner", "Pool.size.<locals>.Inner" },
		{ 18, "run", "Pool.size.<locals>.Inner.run" },
		{ 22, "tab", "tab" },
		{ 23, "deep", "tab.<locals>.deep" },
		{ 25, "other", "other" },
		{ 26, "\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9" },
		{ 2, "f", NULL },      // text
		{ 4, "a", NULL },      // no function
		{ 10, "other", NULL }, // another one
		{ 11, "size", NULL },  // an empty line
		{ 15, "no", NULL },    // within a string
		{ 27, "plain", NULL }, // behind the end
		{ 0, "plain", NULL },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char *found =
			python_qualified_name(text, sizeof(text) - 1, table[i].line, table[i].name);
		cr_expect(strcmp(found ? found : "none",
		                 table[i].qualified ? table[i].qualified : "none") == 0,
		          "line %u: %s", table[i].line, found ? found : "none");
		free(found);
	}
}

Test(python_scope, what_is_no_python_has_no_names)
{
	cr_expect(eq(ptr, python_qualified_name("", 0, 1, "f"), NULL));
	cr_expect(eq(ptr, python_qualified_name("def", 3, 1, "f"), NULL));
	cr_expect(eq(ptr, python_qualified_name("@", 1, 1, "f"), NULL));
	cr_expect(eq(ptr, python_qualified_name("'''", 3, 1, "f"), NULL));
	cr_expect(eq(ptr, python_qualified_name("\0\0\n", 3, 1, "f"), NULL));
}
