#include <stdio.h>

int main(void)
{
	int hash = UPDATE_HASH(s, s->ins_h, strstart + (MIN_MATCH - 1), s->head, s->prev, s->window);
		return hash;
}
